/**
 * Bundles: alerts to the same user via the same channel within seconds become one message, "12 alerts, 3 critical". A bundle is a
 * digest that Belfry opens itself, across notifications and events of an organization: the first alert is sent at once and opens
 * a window, and what follows within it is collected. So is what has waited until then, for personal rules, quiet hours, a silence or a
 * pause. Alerts are occurrences with a dedup key; other messages are never bundled.
 */
import { uuidv7 } from '../ids.ts';
import type { JsonObject } from '../json.ts';

export const bundleLimits = {
  /** How long alerts are collected after the first one was sent. */
  windowMs: 5_000,
  /** While alerts keep coming, each window is twice as long as the one before, up to this. */
  maxWindowMs: 60_000,
  /** How long a bundle waits for alerts that have happened, but whose recipients are not resolved yet. */
  maxBacklogMs: 180_000,
  /** How often it looks for them. */
  backlogEveryMs: 500,
  /** The alerts that the message lists; further ones are counted. */
  items: 10,
} as const;

/** Media in which every alert is a message: machines need each one, the inbox is a list already, and WhatsApp accepts only approved texts. */
const unbundledMedia: ReadonlySet<string> = new Set(['webhook', 'inbox', 'whatsapp']);

export function isBundled(isAlert: boolean, { type }: { type: string }): boolean {
  return isAlert && !unbundledMedia.has(type);
}

/** Returns the key of a bundle among those of a user and channel: what is urgent waits for nothing else. */
export function bundleKey({ isUrgent, step = 0 }: { isUrgent: boolean; step?: number | undefined }): string {
  if (step < 0) return 'resolved';
  return isUrgent ? 'urgent' : 'alerts';
}

/** A bundle belongs to no notification. */
export const bundleNotification = 0;

/** Returns an id for a bundle. It is a UUID of version 8 with the layout of UUIDv7, so that it says what it is wherever it is stored. */
export function createBundleId(milliseconds: number): string {
  const id = uuidv7(milliseconds);
  return `${id.slice(0, versionAt)}8${id.slice(versionAt + 1)}`;
}

const versionAt = 14;

export function isBundleId(id: string | null): boolean {
  return id?.[versionAt] === '8';
}

/** SQL text: the same for a column. */
export const isBundleIdText = (column: string) => `get_byte(uuid_send(${column}), 6) >> 4 = 8`;

/** An alert in a bundle. */
export interface BundledAlert {
  context: JsonObject;
  created_at: Date;
  occurrence_id: string;
  /** The name of its event; null: it has been deleted. */
  event: string | null;
  dedup_key: string | null;
}

const maxTitle = 150;

/** Returns one line about an alert: its title if its context has one, as those of sources do, else its event and key. */
export function titleOfAlert({
  context,
  event,
  dedup_key,
}: Omit<BundledAlert, 'created_at' | 'occurrence_id'>): string {
  const { title } = context;
  if (typeof title === 'string' && title.trim() !== '') return toLine(title);
  const key = dedup_key ?? '';
  return toLine(event === null ? key : key === '' ? event : `${event}: ${key}`);
}

function toLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > maxTitle ? `${line.slice(0, maxTitle - 1).toWellFormed()}…` : line;
}

/** The variables of the message of a bundle. */
export interface BundleScope {
  items: { title: string; severity: string; time: string; acknowledge_url: string }[];
  count: number;
  /** How many of all are critical. */
  critical: number;
  /** The number of alerts that are not in `items`. */
  more: number;
}

export function bundleScope(
  items: readonly BundledAlert[],
  { count, critical }: { count: number; critical: number },
  acknowledgeUrlOf: (occurrenceId: string) => string,
): BundleScope {
  return {
    items: items.map(item => ({
      title: titleOfAlert(item),
      severity: typeof item.context.severity === 'string' ? toLine(item.context.severity) : '',
      time: item.created_at.toISOString(),
      acknowledge_url: acknowledgeUrlOf(item.occurrence_id),
    })),
    count,
    critical,
    more: Math.max(0, count - items.length),
  };
}
