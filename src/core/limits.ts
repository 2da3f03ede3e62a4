/** What one organization may take of an installation that it shares with others. Null: no limit. */
export interface OrganizationLimits {
  /** In each API process. */
  triggers_per_second: number | null;
  deliveries_per_trigger: number | null;
  users: number | null;
  stored_messages: number | null;
}

export const limitNames = [
  'triggers_per_second',
  'deliveries_per_trigger',
  'users',
  'stored_messages',
] as const satisfies (keyof OrganizationLimits)[];

/** The largest that can be set: what the columns hold. */
export const largestLimit: Record<keyof OrganizationLimits, number> = {
  triggers_per_second: 1_000_000,
  deliveries_per_trigger: 2_000_000_000,
  users: 2_000_000_000,
  stored_messages: 1_000_000_000_000,
};

/** How many of the deliveries that come next a trigger may still have, after those that it has. */
export function roomForDeliveries(limit: number | null, before: number, next: number): number {
  return limit === null ? next : Math.max(0, Math.min(next, limit - before));
}
