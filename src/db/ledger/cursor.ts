/**
 * Where an expansion continues. It holds ids instead of positions, because notifications may be added or deleted
 * between pages.
 */
export interface Cursor {
  /** The notification's id. */
  notification: number;
  /** The source of recipients. */
  source: string;
  /** The last position read from the source. */
  after: number;
  /** What determines the rest of its recipients, in case the notification is deleted. */
  definition?: {
    name: string;
    recipients: { list?: string; users?: string; trigger?: boolean };
    channels: readonly string[];
    version: number;
  };
}
