/**
 * What happened, for the webhooks that want to be told: written by the very statement that makes it happen, so that neither
 * is there without the other. Where no webhook is active, such a statement asks one empty index and is done.
 */
import { endedStatuses } from '../core/statuses.ts';
import type { WebhookType } from '../core/webhooks.ts';

/** Asked once for a statement, before any row. */
const anyActive = '(select exists (select from webhooks where active))';

const eventPath = (row: string) => `(
  select concat_ws('/', p.slug, a.slug, e.slug) from events e
  join applications a on a.organization_id = e.organization_id and a.id = e.application_id
  join projects p on p.organization_id = a.organization_id and p.id = a.project_id
  where e.organization_id = ${row}.organization_id and e.id = ${row}.event_id)`;

const channelSlug = (row: string) =>
  `(select slug from channels where organization_id = ${row}.organization_id and id = ${row}.channel_id)`;

/**
 * SQL text: a message for each row and each webhook that subscribes to its type, the organization's and the operator's,
 * which is told whose it is. The limit is more than there can be: with it the planner looks the webhooks of each row up, and
 * does not read those of everybody for all rows.
 */
function tellText(rows: string, type: string, data: string, condition = 'true'): string {
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

/** SQL text: columns of a delivery `d` that `deliveryEventsText` needs besides `event_id`. */
export const toldColumns =
  'd.organization_id, d.occurrence_id, d.id, d.user_id, d.channel_id, d.status, d.reason, d.provider, d.attempts';

/** SQL text of a part of a statement: tells of the rows of `changed` that are sent, failed or unknown. */
export function deliveryEventsText(changed: string): string {
  const data = `jsonb_build_object('delivery', c.id, 'occurrence', c.occurrence_id, 'event', ${eventPath('c')},
      'channel', ${channelSlug('c')}, 'user_id', c.user_id, 'status', c.status, 'reason', c.reason,
      'provider', c.provider, 'attempts', c.attempts)`;
  const type = `('delivery.' || c.status)`;
  return `told_deliveries as (${tellText(changed, type, data, `c.status = any('{sent,failed,unknown}')`)})`;
}

/** SQL text: columns of an occurrence `o` that `completionEventsText` needs besides `outcome`, which is null where it goes on. */
export const completedColumns = `o.organization_id, o.id, o.event_id, o.correlation_id, ${endedStatuses
  .map(status => `o.${status}`)
  .join(', ')}`;

/** SQL text of a part of a statement: tells of the occurrences that came to their end with it. */
export function completionEventsText(completed: string): string {
  const counts = endedStatuses.map(status => `'${status}', c.${status}`).join(', ');
  const data = `jsonb_build_object('occurrence', c.id, 'event', ${eventPath('c')}, 'outcome', c.outcome,
      'correlation_id', c.correlation_id, 'counts', jsonb_build_object(${counts}))`;
  return `told_completions as (${tellText(completed, `'occurrence.completed'`, data, 'c.outcome is not null')})`;
}

/** SQL text of a part of a statement: tells of answered occurrences, `answered(organization_id, id, event_id, correlation_id)`. */
export function answerEventsText(answered: string, type: WebhookType): string {
  const data = `jsonb_build_object('occurrence', c.id, 'event', ${eventPath('c')}, 'correlation_id', c.correlation_id)`;
  return `told_answers as (${tellText(answered, `'${type}'`, data)})`;
}

/** SQL text of a part of a statement: tells of addresses `disabled(organization_id, id, user_id, name)`. */
export function addressEventsText(disabled: string, by: 'provider' | 'person'): string {
  const data = `jsonb_build_object('address', c.id, 'name', c.name, 'user_id', c.user_id, 'by', '${by}')`;
  return `told_addresses as (${tellText(disabled, `'address.disabled'`, data)})`;
}

/** SQL text of a part of a statement: tells of channels `changed(organization_id, channel_id, …)`, with more of what is told. */
export function channelEventsText(changed: string, type: WebhookType, more: string): string {
  const data = `jsonb_build_object('channel', ${channelSlug('c')}, ${more})`;
  return `told_channels as (${tellText(changed, `'${type}'`, data)})`;
}
