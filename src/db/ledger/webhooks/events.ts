/**
 * Queues messages for operational webhooks, in the statement that causes them, so that neither is stored without the
 * other. Without active webhooks, this costs one lookup in an empty index.
 */

import type { WebhookType } from '../../../core/configuration/webhooks.ts';
import { endedStatuses } from '../../../core/history/statuses.ts';
import { columnsText } from '../columns.ts';
import { unknownCount } from '../expand/unexpanded-counts.ts';

/** Evaluated once per statement, before any row. */
const anyActive = '(select exists (select from webhooks where active))';

const eventPath = (row: string) => `(
  select concat_ws('/', p.slug, a.slug, e.slug) from events e
  join applications a on a.organization_id = e.organization_id and a.id = e.application_id
  join projects p on p.organization_id = a.organization_id and p.id = a.project_id
  where e.organization_id = ${row}.organization_id and e.id = ${row}.event_id)`;

const channelSlug = (row: string) =>
  `(select slug from channels where organization_id = ${row}.organization_id and id = ${row}.channel_id)`;

/**
 * SQL text: inserts a message for each row and each webhook that subscribes to its type, both the organization's and
 * the operator's, whose messages name the organization. The limit is never reached: it makes the planner look up
 * webhooks per row instead of reading all of them.
 */
function insertMessagesText(rows: string, type: string, data: string, condition = 'true'): string {
  return `insert into webhook_messages (organization_id, webhook_id, type, data)
    select w.organization_id, w.id, ${type}, ${data} || case when w.instance_wide then
        jsonb_build_object('organization', (select slug from organizations where id = c.organization_id)) else '{}' end
    from ${rows} c, lateral (
      (select organization_id, id, instance_wide from webhooks
        where organization_id = c.organization_id and active and not instance_wide and ${type} = any(types) limit 100)
      union all
      (select organization_id, id, instance_wide from webhooks
        where active and instance_wide and ${type} = any(types) limit 100)
    ) w
    where ${anyActive} and ${condition}`;
}

/** The columns of a delivery that `deliveryEventsText` needs besides `event_id`. */
// biome-ignore format: one line
export const eventColumns: readonly string[] = ['organization_id', 'occurrence_id', 'id', 'user_id', 'channel_id', 'status', 'reason', 'provider', 'attempts'];
/** SQL text: the same of a delivery `d`. */
export const deliveryEventColumns: string = columnsText('d', eventColumns);

const deliveryData = `jsonb_build_object('delivery', c.id, 'occurrence', c.occurrence_id, 'event', ${eventPath('c')},
      'channel', ${channelSlug('c')}, 'user_id', c.user_id, 'status', c.status, 'reason', c.reason,
      'provider', c.provider, 'attempts', c.attempts)`;

/** SQL text of a CTE that queues messages for the rows of `changed` that are sent, failed or unknown. */
export function deliveryEventsText(changed: string): string {
  const type = `('delivery.' || c.status)`;
  return `queued_deliveries as (${insertMessagesText(changed, type, deliveryData, `c.status = any('{sent,failed,unknown}')`)})`;
}

/** SQL text that queues messages for deliveries that were reported as spam, with the same columns. */
export function complaintEventsText(complained: string): string {
  return insertMessagesText(complained, `'delivery.complained'`, deliveryData);
}

/**
 * SQL text: columns of an occurrence `o` that `completionEventsText` needs besides `outcome`, which is null if it has
 * not ended.
 */
export const completedColumns = `o.organization_id, o.id, o.event_id, o.correlation_id, o.reason, o.unexpanded, o.cancelled_by,
      o.acknowledged_by, o.resolved_by, case when o.outcome = 'suppressed' then o.options -> 'dry_run' = 'true' end as is_dry_run,
      ${endedStatuses.map(status => `o.${status}`).join(', ')}`;

/** SQL text of a CTE that queues messages for occurrences that ended. */
export function completionEventsText(completed: string): string {
  const counts = endedStatuses.map(status => `'${status}', c.${status}`).join(', ');
  const data = `jsonb_build_object('occurrence', c.id, 'event', ${eventPath('c')}, 'outcome', c.outcome, 'reason', c.reason,
      'unexpanded', nullif(coalesce(c.unexpanded, 0), ${unknownCount}),
      'dry_run', coalesce(c.is_dry_run, false), 'cancelled_by', c.cancelled_by, 'acknowledged_by', c.acknowledged_by, 'resolved_by', c.resolved_by,
      'correlation_id', c.correlation_id, 'counts', jsonb_build_object(${counts}))`;
  return `queued_completions as (${insertMessagesText(completed, `'occurrence.completed'`, data, 'c.outcome is not null')})`;
}

/**
 * SQL text of a CTE that queues messages for occurrences that were acknowledged, snoozed, opened again or resolved,
 * `answered(organization_id, id, event_id, correlation_id)`; `more` adds fields to the data.
 */
export function answerEventsText(answered: string, type: WebhookType, more?: string): string {
  const data = `jsonb_build_object('occurrence', c.id, 'event', ${eventPath('c')}, 'correlation_id', c.correlation_id${more ? `, ${more}` : ''})`;
  return `queued_answers as (${insertMessagesText(answered, `'${type}'`, data)})`;
}

/**
 * SQL text of a CTE that queues messages for occurrences that wait for an approval, `held(organization_id, id, event_id, kind, threshold,
 * largest, counts, is_counted, expires_at, figures)`.
 */
export function heldEventsText(held: string): string {
  const data = `jsonb_build_object('occurrence', c.id, 'event', ${eventPath('c')}, 'reason', 'guard.' || c.kind,
      'recipients', case when c.is_counted then c.counts -> 'recipients' end, 'threshold', c.threshold, 'largest', c.largest,
      'expires_at', c.expires_at, 'figures', c.figures)`;
  return `queued_holds as (${insertMessagesText(held, `'occurrence.held'`, data)})`;
}

/** SQL text of a CTE that queues messages for what the rate guard has paused, `paused(organization_id, kind, path)`; `more` adds fields. */
export function rateEventsText(paused: string, more: string): string {
  const data = `jsonb_build_object('kind', c.kind, 'path', c.path, 'reason', 'guard.rate', ${more})`;
  return `queued_rates as (${insertMessagesText(paused, `'trigger.rate_high'`, data)})`;
}

/** SQL text of a CTE that queues messages for sources that reject a payload, `rejecting(organization_id, path, payload, state, error)`. */
export function sourceEventsText(rejecting: string): string {
  const data = `jsonb_build_object('source', c.path, 'payload', c.payload, 'state', c.state, 'error', c.error)`;
  return `queued_rejections as (${insertMessagesText(rejecting, `'source.rejected'`, data)})`;
}

/** SQL text of a CTE that queues messages for addresses `disabled(organization_id, id, user_id, name)`. */
export function addressEventsText(disabled: string, by: 'provider' | 'person'): string {
  const data = `jsonb_build_object('address', c.id, 'name', c.name, 'user_id', c.user_id, 'by', '${by}')`;
  return `queued_addresses as (${insertMessagesText(disabled, `'address.disabled'`, data)})`;
}

/**
 * SQL text of a CTE that queues messages for channels `changed(organization_id, channel_id, …)`; `more` adds fields to
 * the data.
 */
export function channelEventsText(changed: string, type: WebhookType, more: string): string {
  const data = `jsonb_build_object('channel', ${channelSlug('c')}, ${more})`;
  return `queued_channels as (${insertMessagesText(changed, `'${type}'`, data)})`;
}
