/** Limits of one organization in a shared installation. Null means no limit. */
export interface OrganizationLimits {
  /** Applied by each API process separately. */
  triggers_per_second: number | null;
  deliveries_per_trigger: number | null;
  users: number | null;
  stored_messages: number | null;
  /** Of files that are uploaded or fetched, for as long as they are stored. */
  attachment_bytes: number | null;
}

export const limitNames = [
  'triggers_per_second',
  'deliveries_per_trigger',
  'users',
  'stored_messages',
  'attachment_bytes',
] as const satisfies (keyof OrganizationLimits)[];

/** The largest values that can be set, bounded by the column types. */
export const maxLimits: Record<keyof OrganizationLimits, number> = {
  triggers_per_second: 1_000_000,
  deliveries_per_trigger: 2_000_000_000,
  users: 2_000_000_000,
  stored_messages: 1_000_000_000_000,
  attachment_bytes: 1_000_000_000_000_000,
};

/** Returns how many of the `next` deliveries a trigger that already has `before` may still create. */
export function allowedDeliveries(limit: number | null, before: number, next: number): number {
  return limit === null ? next : Math.max(0, Math.min(next, limit - before));
}

/** Bodies and stored triggers above this size count as several requests, and queue separately from small ones. */
export const largeBytes = 16 * 1024;

/** Returns how many requests a body counts as: one for each started 16 KiB. */
export function requestCost(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / largeBytes));
}
