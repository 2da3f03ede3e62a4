/**
 * Counts that are updated whenever deliveries end, so that they never have to be computed: per occurrence, and per
 * hour.
 */
import type pg from 'pg';
import { latencyBucketText } from '../../core/history/latency.ts';
import { endedStatuses } from '../../core/history/statuses.ts';
import { firstPageText } from './first-pages.ts';
import { parentTables } from './months.ts';
import { outstandingText } from './status-text.ts';
import { completedColumns, completionEventsText } from './webhooks/events.ts';

/**
 * SQL text that adds rows of `changed(organization_id, occurrence_id, channel_id, status, event_id, since)` to the
 * counts; `since` is when the latency begins. Rows are grouped once and carry what the next step needs: joining
 * parts of the statement took quadratic time. All rows are updated in key order, so that two workers cannot deadlock.
 */
export function countText(changed: string, { occurrences } = parentTables): string {
  const columns = endedStatuses.map(
    status => `coalesce(sum(count) filter (where status = '${status}'), 0)::int as ${status}`,
  );
  const totals = endedStatuses.map(status => `${status} = o.${status} + t.${status}`).join(', ');
  // An escalating occurrence has steps to come.
  const outstanding = `o.escalating + ${outstandingText('o')} - ${endedStatuses.map(status => `t.${status}`).join(' - ')}`;
  // The usual end. A trigger computes all other outcomes.
  const isAllSent = `o.status = 'sending' and o.sent + t.sent = o.deliveries and o.escalating = 0 and o.reason is null
          and not o.awaits_acknowledgement and o.acknowledged_at is null and o.resolved_at is null`;
  return `ended as materialized (
      select organization_id, occurrence_id, channel_id, status, event_id, since, count(*) as count from ${changed}
      where status = any('{${endedStatuses.join()}}') group by 1, 2, 3, 4, 5, 6
    ), totals as (
      select organization_id, occurrence_id, ${columns.join(', ')} from ended group by 1, 2 order by 1, 2
    ), counted as (
      update ${occurrences} o set ${totals},
        status = case when o.status = 'sending' and ${outstanding} <= 0 then 'completed' else o.status end,
        completed_at = case when o.status = 'sending' and ${outstanding} <= 0 then now() else o.completed_at end,
        outcome = case when ${isAllSent} then 'sent' else o.outcome end,
        ${firstPageText({ isEnding: `o.status = 'sending' and ${outstanding} <= 0` })}
      from totals t where o.organization_id = t.organization_id and o.id = t.occurrence_id
      returning ${completedColumns},
        case when o.status = 'completed' and o.completed_at = now() then o.outcome end as outcome
    ), ${completionEventsText('counted')}, stats as (
      insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
      select organization_id, date_trunc('hour', now()), event_id, channel_id, status, sum(count)
      from ended where event_id is not null
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
      on conflict (organization_id, hour, event_id, channel_id, status)
        do update set count = delivery_stats.count + excluded.count
    ), latencies as (
      insert into latency_stats (organization_id, hour, bucket, count)
      select organization_id, date_trunc('hour', now()),
        ${latencyBucketText('extract(epoch from now() - since)::float8 * 1000')},
        sum(count)
      from ended where status = 'sent' and since is not null
      group by 1, 2, 3 order by 1, 2, 3
      on conflict (organization_id, hour, bucket) do update set count = latency_stats.count + excluded.count
    )`;
}

/** SQL text of a value in the statement that contains `countText`: the outcomes of occurrences that ended with it. */
export const endedText = 'array(select outcome from counted where outcome is not null)';

export interface SuppressedCount {
  organization_id: number;
  event_id: number;
  channel_id: number;
  count: number;
}

const countSuppressed = {
  name: 'count_suppressed',
  text: `
    insert into delivery_stats (organization_id, hour, event_id, channel_id, status, count)
    select organization_id, date_trunc('hour', now()), event_id, channel_id, 'suppressed', count
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) as g (organization_id, event_id, channel_id, count)
    order by 1, 3, 4
    on conflict (organization_id, hour, event_id, channel_id, status)
      do update set count = delivery_stats.count + excluded.count`,
};

/**
 * Adds deliveries that were suppressed by their decision to the statistics. Their occurrences are counted with the page
 * itself.
 */
export async function addSuppressedAcrossTenants(client: pg.PoolClient, counts: SuppressedCount[]): Promise<void> {
  if (counts.length === 0) return;
  const names = ['organization_id', 'event_id', 'channel_id', 'count'] as const;
  await client.query({ ...countSuppressed, values: names.map(name => counts.map(one => one[name])) });
}
