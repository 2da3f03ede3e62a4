/**
 * The listener for bounce mails and alerts (BELFRY_SMTP_IN), in a separate thread: whatever clients send, requests are not delayed. It
 * accepts only mails to return paths and to addresses of sources that this installation has signed, and never relays. A mail is read once
 * for all of its recipients; the main thread stores what it reports.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { type FeedbackEvent, UnreadableMailError } from '../../core/feedback/event.ts';
import type { TenantDelivery } from '../../core/feedback/identify.ts';
import type { FromMailThread, MailThreadSettings, ToMailThread } from '../../core/feedback/mail-messages.ts';
import { readReturnPath } from '../../core/feedback/return-path.ts';
import { type MailedSource, readMailAddress } from '../../core/sources/mail-address.ts';
import { FailureCount } from '../../lib/load/failure-count.ts';
import { FairBudget } from '../../lib/load/fair-budget.ts';
import { createSelfSigned } from '../../lib/network/self-signed.ts';
import { openKeyring } from '../../lib/secrets/keyring.ts';
import { createSigner } from '../../lib/secrets/signer.ts';
import { mailLimits } from './mail-limits.ts';
import { MailReader } from './mail-reader.ts';

const certificateMs = 3_600_000;
/** Below the API and the engine, on Linux, where threads have a priority of their own. */
const niceIncrement = 10;
const maxNice = 19;

const { host, port, keys, certificate } = workerData as MailThreadSettings;
const main = parentPort!;
const post = (message: FromMailThread) => main.postMessage(message);
const signer = createSigner(await openKeyring(keys));
const reader = new MailReader();
const budget = new FairBudget(mailLimits.heldBytes);
const perAddress = new FailureCount(mailLimits.perAddress.mails, mailLimits.perAddress.ms);
const perSource = new FailureCount(mailLimits.perSource.mails, mailLimits.perSource.ms);
const perOrganization = new FailureCount(mailLimits.perOrganization.mails, mailLimits.perOrganization.ms);
const perClient = new Map<string, number>();
const waiting = new Map<number, (answer: Stored) => void>();
let lastId = 0;

type Stored = Pick<Extract<ToMailThread, { kind: 'stored' }>, 'isStored' | 'refusal'>;

const server = new SMTPServer({
  ...(certificate ?? createSelfSigned('belfry', Date.now())),
  name: 'belfry',
  banner: 'bounce mails and alerts only',
  authOptional: true,
  disabledCommands: ['AUTH'],
  disableReverseLookup: true,
  size: mailLimits.maxBytes,
  maxClients: mailLimits.connections,
  socketTimeout: mailLimits.idleMs,
  closeTimeout: mailLimits.closeMs,
  logger: false,
  onConnect(session, callback) {
    const client = clientOf(session);
    const others = perClient.get(client) ?? 0;
    perClient.set(client, others + 1);
    if (others >= mailLimits.connectionsPerClient) return callback(reply(421, '4.7.0 too many connections'));
    setTimeout(() => endSession(session.id), mailLimits.sessionMs).unref();
    return callback();
  },
  onClose(session) {
    const client = clientOf(session);
    const others = (perClient.get(client) ?? 1) - 1;
    if (others > 0) perClient.set(client, others);
    else perClient.delete(client);
  },
  onRcptTo({ address }, session, callback) {
    const others = session.envelope.rcptTo;
    if (others.length >= mailLimits.recipients) return callback(reply(452, '4.5.3 too many recipients'));
    const now = performance.now();
    const source = readSource(address);
    // Its answer depends on the source.
    if (others.length > 0 && (source || readSource(others[0]!.address)))
      return callback(reply(452, '4.5.3 one source at a time'));
    if (source) {
      const isBusy = perSource.waitMs(nameOf(source), now) > 0;
      return callback(isBusy ? reply(450, '4.2.1 too many mails to this address') : null);
    }
    const delivery = readPath(address);
    if (!delivery)
      return callback(reply(550, '5.1.1 neither the return path of a message nor the address of a source'));
    if (perAddress.waitMs(keyOf(delivery), now) > 0)
      return callback(reply(450, '4.2.1 too many mails to this address'));
    const isBusy = perOrganization.waitMs(String(delivery.organizationId), now) > 0;
    return callback(isBusy ? reply(450, '4.2.1 too many mails to this domain') : null);
  },
  onData(stream, session, callback) {
    receive(stream, session).then(
      () => callback(null),
      error =>
        callback((error as { responseCode?: number }).responseCode ? error : reply(451, '4.3.0 try again later')),
    );
  },
});
// A client that closes the connection, or does not get along with our TLS.
server.on('error', () => {});

async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
  const source = readSource(session.envelope.rcptTo[0]!.address);
  if (source) return receiveAlert(stream, session, source);
  const named = session.envelope.rcptTo.map(({ address }) => readPath(address)!);
  const deliveries = [...new Map(named.map(one => [keyOf(one), one])).values()];
  const now = performance.now();
  for (const delivery of deliveries) perAddress.record(keyOf(delivery), now);
  for (const id of new Set(deliveries.map(one => one.organizationId))) perOrganization.record(String(id), now);
  const group = deliveries[0]!.organizationId;
  await holdStart(stream, group, async bytes => {
    const events = await readEvents(group, bytes);
    if (events.length === 0) return post({ kind: 'ignored' });
    await store(id => ({ kind: 'mail', id, ...originOf(session), deliveries, events }));
  });
}

async function receiveAlert(
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  source: MailedSource,
): Promise<void> {
  const { organizationId } = source;
  perSource.record(nameOf(source), performance.now());
  await holdStart(stream, organizationId, async bytes => {
    const letter = await reader.readLetter(organizationId, bytes).catch(error => {
      throw error instanceof UnreadableMailError ? reply(554, '5.6.0 it takes too long to read') : error;
    });
    await store(id => ({ kind: 'alert', id, ...originOf(session), source, letter }));
  });
}

function originOf({ remoteAddress, id }: SMTPServerSession): { origin: string; session: string } {
  return { origin: remoteAddress, session: id };
}

/** Holds the start of a mail in memory while the work lasts. */
async function holdStart(
  stream: SMTPServerDataStream,
  group: number,
  work: (bytes: Buffer) => Promise<void>,
): Promise<void> {
  let held = 0;
  try {
    const bytes = await readStart(stream, chunk => {
      if (!budget.take(group, chunk.length)) throw reply(452, '4.3.1 too many mails at once');
      held += chunk.length;
    });
    if (stream.sizeExceeded) throw reply(552, `5.3.4 larger than ${mailLimits.maxBytes} bytes`);
    await work(bytes);
  } finally {
    if (held > 0) budget.release(group, held);
  }
}

/** Resolves when the main thread has stored it. */
async function store(messageOf: (id: number) => FromMailThread): Promise<void> {
  const id = ++lastId;
  const answered = new Promise<Stored>(resolve => waiting.set(id, resolve));
  post(messageOf(id));
  const { isStored, refusal } = await answered;
  if (refusal) throw reply(refusal.code, refusal.text);
  if (!isStored) throw reply(451, '4.3.0 try again later');
}

/** Returns the start of a mail. The rest is read and dropped, so that the sender gets the response. */
async function readStart(stream: SMTPServerDataStream, hold: (chunk: Buffer) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let refused: unknown;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const kept = chunk.subarray(0, mailLimits.bytes - length);
    if (kept.length === 0 || refused) continue;
    try {
      hold(kept);
      length += kept.length;
      chunks.push(kept);
    } catch (error) {
      refused = error;
    }
  }
  if (refused) throw refused;
  return Buffer.concat(chunks);
}

async function readEvents(organizationId: number, bytes: Buffer): Promise<FeedbackEvent[]> {
  try {
    return (await reader.read(organizationId, bytes)).events;
  } catch (error) {
    if (!(error instanceof UnreadableMailError)) throw error;
    return [];
  }
}

function readPath(address: string): TenantDelivery | undefined {
  return readReturnPath(address, signer.isSignedShort);
}

function readSource(address: string): MailedSource | undefined {
  return readMailAddress(address, signer.isSignedShort);
}

function nameOf({ organizationId, sourceId }: MailedSource): string {
  return `${organizationId}/${sourceId}`;
}

function keyOf({ organizationId, occurrence, id }: TenantDelivery): string {
  return `${organizationId}/${occurrence}.${id}`;
}

/** Returns the address of a client, or its network for IPv6, where one client has many addresses. */
function clientOf({ remoteAddress }: SMTPServerSession): string {
  return remoteAddress.includes('.') ? remoteAddress : remoteAddress.split(':', 4).join(':');
}

function endSession(sessionId: string): void {
  type Internals = { id: string; send(code: number, text: string): void; close(): void };
  for (const connection of server.connections as unknown as Set<Internals>) {
    if (connection.id !== sessionId) continue;
    connection.send(421, '4.4.2 the session took too long');
    connection.close();
  }
}

function reply(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}

main.on('message', (message: ToMailThread) => {
  if (message.kind === 'close') return server.close(() => process.exit());
  waiting.get(message.id)?.(message);
  waiting.delete(message.id);
});

const { files } = certificate ?? {};
if (files) {
  setInterval(() => {
    try {
      server.updateSecureContext({ cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') });
    } catch (error) {
      post({
        kind: 'log',
        message: 'the certificate of BELFRY_SMTP_IN cannot be read',
        reason: (error as Error).message,
      });
    }
  }, certificateMs).unref();
}
try {
  if (process.platform === 'linux') setPriority(Math.min(maxNice, getPriority() + niceIncrement));
} catch {
  // A sandbox may forbid it.
}
try {
  const listening = server.listen(port, host);
  await once(listening, 'listening');
  post({ kind: 'listening', port: (listening.address() as AddressInfo).port });
} catch (error) {
  post({ kind: 'failed', code: (error as NodeJS.ErrnoException).code, message: (error as Error).message });
  process.exit();
}
