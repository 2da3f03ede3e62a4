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
  'event_audiences',
  'trigger_rates',
  'channels',
  'users',
  'addresses',
  'test_pages',
  'distribution_lists',
  'members',
  'keys',
  'notifications',
  'rotations',
  'messages',
  'layouts',
  'layout_versions',
  'webhooks',
  'webhook_states',
  'sources',
  'source_alerts',
  'source_payloads',
  'source_updates',
  'heartbeats',
  'heartbeat_states',
  'heartbeat_calls',
  'watches',
  'watch_states',
  'schedules',
  'schedule_history',
  'schedule_overrides',
  'schedule_swaps',
  'schedule_watches',
  'schedule_notices',
  'absence_calendars',
  'schedule_groups',
  'absences',
  'silences',
  'silenced_occurrences',
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
  'responses',
  'throttle_uses',
  'webhook_messages',
  'message_updates',
  'unexpanded_counts',
  'holds',
  'delivery_stats',
  'trigger_stats',
  'latency_stats',
  'summed_stats',
  'hour_stats',
  'event_day_stats',
  'channel_day_stats',
  'latency_day_stats',
  'service_levels',
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
  guard_mails: 'accounts have other ids in another cell, and what waits is shown there',
  verification_codes: 'hashed with a key of this cell, and valid for minutes',
  attachment_usage: 'counted again as attachments are copied',
  organization_moves: 'the move itself',
  organization_changes: 'the move itself',
};

/** Other tables refer to these without `on delete cascade`, so their rows are deleted after the others have changed. */
export const deletedLast: ReadonlySet<string> = new Set<OrganizationTable>(['categories']);

/** Kept by `--forget`: the slug stays reserved, and members see where the organization has gone. */
export const keptWhenForgotten: ReadonlySet<string> = new Set<OrganizationTable>(['organizations']);
