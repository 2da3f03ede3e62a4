/** The mailbox of a mail provider that is polled for bounce mails, as its settings `imap_…` describe it. */
import type { JsonObject } from '../json.ts';

export interface Mailbox {
  /** Identifies it within its channel, and is shown to people. */
  name: string;
  host: string;
  port: number;
  /** Whether TLS starts with the connection; otherwise STARTTLS is required. */
  secure: boolean;
  user: string;
  password: string;
  folder: string;
  /** The certificate authority to trust (PEM) instead of the public ones. */
  ca: string | undefined;
}

const imapsPort = 993;
/** The only port on which servers expect STARTTLS. */
const imapPort = 143;

/** Returns the mailboxes in the settings of a channel's providers, each once. */
export function mailboxesOf(entries: readonly JsonObject[], secrets: readonly JsonObject[]): Mailbox[] {
  const found = new Map<string, Mailbox>();
  for (const [i, entry] of entries.entries()) {
    const { imap_host, imap_port = imapsPort, imap_user, imap_folder = 'INBOX', ca } = entry;
    if (typeof imap_host !== 'string') continue;
    const [host, port, user, folder] = [imap_host, Number(imap_port), String(imap_user), String(imap_folder)];
    const name = `${folder} of ${user} at ${host}:${port}`;
    const password = String(secrets[i]?.imap_password ?? '');
    const authority = typeof ca === 'string' ? ca : undefined;
    found.set(name, { name, host, port, secure: port !== imapPort, user, password, folder, ca: authority });
  }
  return [...found.values()];
}
