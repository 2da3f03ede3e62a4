/** What the thread that receives bounce mails and alerts, and the main thread send each other. */

import type { Letter } from '../sources/letter.ts';
import type { MailedSource } from '../sources/mail-address.ts';
import type { FeedbackEvent } from './event.ts';
import type { TenantDelivery } from './identify.ts';

export interface MailThreadSettings {
  host: string;
  port: number;
  /** Where the signatures of return paths come from: see lib/secrets/keyring.ts. */
  keys: { secretKey: string | undefined; previousSecretKeys: readonly string[]; dataDir: string };
  /** Undefined: one is generated, which is enough for servers that encrypt if they can. */
  certificate: { cert: string; key: string; files?: { cert: string; key: string } } | undefined;
}

/** A mail that reports something about these deliveries. The main thread answers with the same id. */
export interface ReportMail {
  kind: 'mail';
  id: number;
  origin: string;
  session: string;
  deliveries: TenantDelivery[];
  events: FeedbackEvent[];
}

/** A mail to a source. The main thread answers with the same id. */
export interface AlertMail {
  kind: 'alert';
  id: number;
  origin: string;
  session: string;
  source: MailedSource;
  letter: Letter;
}

export type FromMailThread =
  | ReportMail
  | AlertMail
  | { kind: 'ignored' }
  | { kind: 'listening'; port: number }
  | { kind: 'failed'; code: string | undefined; message: string }
  | { kind: 'log'; message: string; reason: string };

export type ToMailThread = { kind: 'stored'; id: number; isStored: boolean; refusal?: MailRefusal } | { kind: 'close' };

/** Tells the sending server that trying again is of no use, or when it is. */
export interface MailRefusal {
  code: number;
  text: string;
}
