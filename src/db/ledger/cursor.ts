import type { CanaryState } from '../../core/decision/guards/canary.ts';

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
    recipients: { list?: string; users?: string; trigger?: boolean; schedule?: string; offset?: number };
    channels: readonly string[];
    version: number;
  };
  /** How many recipients the pages so far had: see `countRecipients`. */
  recipients?: number;
  /** Set at the start of an occurrence that was approved: its audience is not checked again. */
  isApproved?: true;
  /** Set if its messages are spread over time. `next`: when the next one is due, in milliseconds since 1970. */
  pace?: { perSecond: number; next: number };
  /** Set if it has a canary: see pipeline/canary.ts. */
  canary?: CanaryState;
}

/** The position before all notifications. */
export const startCursor: Cursor = { notification: 0, source: '', after: 0 };

export const isStart = (cursor: Cursor | null): boolean => cursor === null || cursor.notification === 0;
