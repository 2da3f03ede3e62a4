/**
 * What a move copies of an organization (organization-copy.ts). Every table with an `organization_id` is listed here, in an
 * order in which each follows the tables that it refers to; test/operations/organization-tables.test.ts finds omissions.
 * Ids are the same in both databases: cells allocate them from different ranges (db/connection/cell.ts).
 */
import { type NounName, nouns, sectionOf } from '../../core/configuration/document.ts';

/**
 * - `referring`: copied together in one snapshot, because they refer to each other.
 * - `history`: copied one at a time. They refer to the organization at most, and may be large.
 */
export type CopyPhase = 'referring' | 'history';

const referring = [
  'organizations',
  'categories',
  'projects',
  'applications',
  'events',
  'channels',
  'users',
  'addresses',
  'distribution_lists',
  'members',
  'keys',
  'notifications',
  'messages',
  'layouts',
  'layout_versions',
  'webhooks',
  'webhook_states',
  'registrations',
  'preferences',
  'preference_history',
  'user_history',
  'inboxes',
  'inbox',
  'missing_variables',
  'channel_rates',
  'channel_outages',
  'channel_feedback',
  'channel_reputation',
  'provider_days',
  'feedback_mailboxes',
  'attachments',
  'occurrence_attachments',
] as const;

const history = [
  'invites',
  'suppressions',
  'audit',
  'render_snapshots',
  'occurrences',
  'deliveries',
  'feedback',
  'feedback_unmatched',
  'received_signatures',
  'idempotency_keys',
  'dedup_keys',
  'digests',
  'steps',
  'throttle_uses',
  'webhook_messages',
  'message_updates',
  'unexpanded_counts',
  'delivery_stats',
  'trigger_stats',
  'latency_stats',
  'summed_stats',
  'hour_stats',
  'event_day_stats',
  'channel_day_stats',
  'latency_day_stats',
] as const;

export type OrganizationTable = (typeof referring)[number] | (typeof history)[number];

/** The tables of configuration nouns that are not listed above: nothing refers to them. */
const others = (Object.keys(nouns) as NounName[])
  .map(noun => sectionOf(noun) as OrganizationTable | undefined)
  .filter(name => name !== undefined)
  .filter(name => !(referring as readonly string[]).includes(name));

export const organizationTables: readonly { name: OrganizationTable; phase: CopyPhase }[] = [
  ...[...referring, ...others].map(name => ({ name, phase: 'referring' as const })),
  ...history.map(name => ({ name, phase: 'history' as const })),
];

/** Tables with an `organization_id` that are not copied row by row. */
export const notCopied: Readonly<Record<string, string>> = {
  memberships: 'accounts have other ids in another cell; copied by email at the end',
  attachment_usage: 'counted again as attachments are copied',
  organization_moves: 'the move itself',
  organization_changes: 'the move itself',
};

/** Other tables refer to these without `on delete cascade`, so their rows are deleted after the others have changed. */
export const deletedLast: ReadonlySet<string> = new Set<OrganizationTable>(['categories']);

/** Kept by `--forget`: the slug stays reserved, and members see where the organization has gone. */
export const keptWhenForgotten: ReadonlySet<string> = new Set<OrganizationTable>(['organizations']);
