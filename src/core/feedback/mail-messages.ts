/** What the thread that receives bounce mails and the main thread send each other. */
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

export type FromMailThread =
  | ReportMail
  | { kind: 'ignored' }
  | { kind: 'listening'; port: number }
  | { kind: 'failed'; code: string | undefined; message: string }
  | { kind: 'log'; message: string; reason: string };

export type ToMailThread = { kind: 'stored'; id: number; isStored: boolean } | { kind: 'close' };
