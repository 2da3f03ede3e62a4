/** Limits of bounce mails and alerts, per process. */
export const mailLimits = {
  /** Bytes of a mail that are read: a report precedes the message that it returns. The rest is dropped. */
  bytes: 1024 * 1024,
  /** To read one. */
  cpuMs: 1_000,
  /** Mails of one organization that wait to be read. */
  waiting: 100,
  /** A bounce may return the whole message with its attachments. */
  maxBytes: 20 * 1024 * 1024,
  /** Of all mails being received. One organization gets half of it, less if others have mails too. */
  heldBytes: 32 * 1024 * 1024,
  /** Recipients of one mail; a bounce has one. */
  recipients: 10,
  connections: 100,
  /** As many as Postfix opens to one destination by default. */
  connectionsPerClient: 20,
  /** Mails to one return path: a bounce, a few warnings about its delay, and vacation replies. */
  perAddress: { mails: 20, ms: 3_600_000 },
  /** Alerts to one source. */
  perSource: { mails: 600, ms: 60_000 },
  perOrganization: { mails: 6_000, ms: 60_000 },
  idleMs: 60_000,
  /** Longer than mail servers reuse a connection. */
  sessionMs: 600_000,
  /** How long connections have to finish when the service stops. */
  closeMs: 1_000,
} as const;
