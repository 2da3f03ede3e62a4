/** Counts what became of the sample of a canary. */
import { sql } from 'kysely';
import type pg from 'pg';
import type { SampleCounts } from '../../../core/decision/guards/canary.ts';
import type { VariantCounts, VariantName } from '../../../core/decision/guards/variants.ts';
import type { Db } from '../../connection/pool.ts';
import { occurrenceInOnce } from '../deliver/deliveries.ts';

// Until the others are expanded, all deliveries of these notifications are those of the sample.
const countSample = {
  name: 'count_sample',
  text: `
    with sample as (
      select d.notification_id, d.variant, d.acted_at is not null as is_acknowledged, d.status, d.reason = 'bounced' and d.status = 'failed' as is_bounced,
        d.status in ('sent', 'failed', 'unknown') or d.attempts > 0 and d.status in ('pending', 'retrying', 'expired') as is_attempted,
        d.status = 'sent' and exists (
          select from feedback f where f.organization_id = d.organization_id and f.occurrence_id = d.occurrence_id
            and f.delivery_id = d.id and f.type = 'complained') as is_complained,
        d.variant is not null and exists (
          select from feedback f where f.organization_id = d.organization_id and f.occurrence_id = d.occurrence_id
            and f.delivery_id = d.id and f.type = 'clicked') as is_clicked
      from (
        select organization_id, occurrence_id, id, notification_id, status, reason, attempts, variant, acted_at from deliveries
        where organization_id = $1 and ${occurrenceInOnce} = $2 and occurrence_id = $2 and notification_id = any($3)
      ) d
      where d.status not in ('suppressed', 'cancelled')
    )
    select notification_id::text as notification, variant, count(*)::int as messages,
      count(*) filter (where is_attempted)::int as attempted,
      count(*) filter (where is_attempted and status <> 'sent' and is_bounced is not true)::int as failed,
      count(*) filter (where is_bounced)::int as bounced,
      count(*) filter (where is_complained)::int as complained,
      count(*) filter (where is_clicked)::int as clicks,
      count(*) filter (where is_acknowledged)::int as acknowledgements
    from sample group by 1, 2`,
};

type CountRow = Omit<SampleCounts, 'variants'> &
  Omit<VariantCounts, 'variant'> & { notification: string; variant: VariantName | null };

/** Returns the counts of each notification by its id. */
export async function countSamples(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  notifications: readonly string[],
): Promise<Map<string, SampleCounts>> {
  const values = [organizationId, occurrenceId, notifications];
  const { rows } = await pool.query<CountRow>({ ...countSample, values });
  const counted = [...Map.groupBy(rows, ({ notification }) => notification)];
  return new Map(counted.map(([notification, own]) => [notification, addUp(own)]));
}

function addUp(rows: CountRow[]): SampleCounts {
  const sum = (count: 'messages' | 'attempted' | 'failed' | 'bounced' | 'complained') =>
    rows.reduce((total, row) => total + row[count], 0);
  const variants = rows.flatMap(({ variant, messages, attempted, clicks, acknowledgements }) =>
    variant === null ? [] : [{ variant, messages, attempted, clicks, acknowledgements }],
  );
  const [messages, attempted] = [sum('messages'), sum('attempted')];
  return {
    messages,
    attempted,
    failed: sum('failed'),
    bounced: sum('bounced'),
    complained: sum('complained'),
    variants,
  };
}

/** Notes that the recipient took an action of a message, if its variants are compared. Only the first counts. */
export async function noteAction(db: Db, organizationId: number, occurrenceId: string, id: number): Promise<void> {
  await sql`
    update deliveries set acted_at = now()
    where organization_id = ${organizationId} and occurrence_id = ${occurrenceId} and id = ${id}
      and variant is not null and acted_at is null`.execute(db);
}
