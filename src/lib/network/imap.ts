/**
 * Reads new messages of a mailbox over IMAP, with a bound on everything: the server belongs to a tenant. Messages stay
 * unread unless the caller says otherwise, and are never deleted.
 */
import { isIP } from 'node:net';
import type { ImapFlow } from 'imapflow';

export interface ImapServer {
  host: string;
  /** The address to connect to, which the outbound guard has checked. */
  address: string;
  port: number;
  secure: boolean;
  user: string;
  password: string;
  ca: string | undefined;
}

/** Up to which message a mailbox has been read. A server that renumbers its messages changes `validity`. */
export interface ImapPosition {
  validity: number | null;
  uid: number;
}

export interface ImapLimits {
  /** Messages that are read at most. */
  messages: number;
  /** Bytes of a message that are read; the rest is left out. */
  bytes: number;
  /** How long everything may take. */
  ms: number;
  /** Ends the connection early. */
  signal: AbortSignal;
}

const timeoutMs = { connect: 15_000, greeting: 15_000, idle: 20_000 };
/** A list of half a million message numbers. */
const maxLineBytes = 4 * 1024 * 1024;

/**
 * Passes new messages to `handle`, oldest first; those for which it returns true are marked as read. `onPosition` is called
 * after each message, so that a failure does not repeat those before. Returns whether there are more messages.
 */
export async function readNewMessages(
  { host, address, port, secure, user, password, ca }: ImapServer,
  folder: string,
  from: ImapPosition,
  limits: ImapLimits,
  handle: (bytes: Buffer) => Promise<boolean>,
  onPosition: (position: ImapPosition) => void,
): Promise<boolean> {
  const { ImapFlow } = await import('imapflow');
  const client = new ImapFlow({
    host: address,
    port,
    secure,
    ...(!secure && { doSTARTTLS: true }),
    ...(isIP(host) === 0 && { servername: host }),
    auth: { user, pass: password },
    tls: ca === undefined ? {} : { ca },
    logger: false,
    clientInfo: { name: 'Belfry' },
    disableAutoIdle: true,
    // A small compressed response could be a huge one.
    disableCompression: true,
    connectionTimeout: timeoutMs.connect,
    greetingTimeout: timeoutMs.greeting,
    socketTimeout: timeoutMs.idle,
    maxLineLength: maxLineBytes,
    maxLiteralSize: limits.bytes,
    maxResponseSize: limits.bytes + maxLineBytes,
  });
  let failure: unknown;
  client.on('error', error => {
    failure ??= error;
  });
  const end = (reason: string) => {
    failure = new Error(reason);
    client.close();
  };
  const timer = setTimeout(end, limits.ms, `it took longer than ${limits.ms / 1_000} s`);
  const onAbort = () => end('the service is stopping');
  limits.signal.addEventListener('abort', onAbort, { once: true });
  try {
    limits.signal.throwIfAborted();
    await client.connect();
    return await readFolder(client, folder, from, limits, handle, onPosition);
  } catch (error) {
    throw failure ?? error;
  } finally {
    clearTimeout(timer);
    limits.signal.removeEventListener('abort', onAbort);
    client.close();
  }
}

async function readFolder(
  client: ImapFlow,
  folder: string,
  from: ImapPosition,
  { messages, bytes }: ImapLimits,
  handle: (bytes: Buffer) => Promise<boolean>,
  onPosition: (position: ImapPosition) => void,
): Promise<boolean> {
  const { uidValidity } = await client.mailboxOpen(folder);
  const validity = Number(uidValidity);
  const after = from.validity === validity ? from.uid : 0;
  onPosition({ validity, uid: after });
  const found = await client.search({ uid: `${after + 1}:*` }, { uid: true });
  if (!found) throw new Error('the server refused to list messages');
  // `*` is the last message, even if it was read before.
  const uids = found.filter(uid => uid > after).sort((a, b) => a - b);
  for (const uid of uids.slice(0, messages)) {
    const message = await client.fetchOne(`${uid}`, { source: { maxLength: bytes } }, { uid: true });
    // Undefined: it was deleted meanwhile.
    const isDone = message ? await handle(message.source ?? Buffer.alloc(0)) : false;
    if (isDone) await client.messageFlagsAdd(`${uid}`, ['\\Seen'], { uid: true });
    onPosition({ validity, uid });
  }
  return uids.length > messages;
}

/** Returns why a mailbox could not be read, for people. The server's own words are cut. */
export function explainImapError(error: unknown): string {
  const { message, responseText, authenticationFailed } = error as Error & {
    responseText?: string;
    authenticationFailed?: boolean;
  };
  const detail = (responseText || message || String(error)).replace(/\s+/g, ' ').slice(0, 200);
  return authenticationFailed ? `the server refused the user name or password: ${detail}` : detail;
}
