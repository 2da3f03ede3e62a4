/** Which pause holds an occurrence, and the reason that was given for it. */
import { sql } from 'kysely';
import { isPausedText, pauseCodeText, pauseReasonText } from '../configuration/pauses.ts';
import type { Db } from '../connection/pool.ts';

/** The newest deliveries of an occurrence among which a held one is looked for: a pause holds the last ones of a fan-out. */
const sampled = 100;

export interface OccurrenceHold {
  /** `event.paused` or `guard.rate`, or why a delivery is held. Null: the pause has just ended. */
  reason: string | null;
  note: string | null;
}

export async function findOccurrenceHolds(
  db: Db,
  organizationId: number,
  identifiers: readonly string[],
): Promise<Map<string, OccurrenceHold>> {
  if (identifiers.length === 0) return new Map();
  const { rows } = await sql<OccurrenceHold & { id: string }>`
    select wanted.id, coalesce(event.reason, delivery.reason) as reason,
      case when event.reason is null then delivery.note else event.note end as note
    from unnest(${identifiers}::uuid[]) as wanted (id)
    left join lateral (
      select ${sql.raw(pauseCodeText('o'))} as reason, ${sql.raw(pauseReasonText('o'))} as note from occurrences o
      where o.organization_id = ${organizationId} and o.id = wanted.id and ${sql.raw(isPausedText('o'))}
    ) event on true
    left join lateral (
      select last.reason, case last.reason when 'channel.paused' then c.paused_reason
        when 'channel.bulk_paused' then c.bulk_paused_reason end as note
      from (
        select d.channel_id, d.status, d.due_at, d.reason from deliveries d
        where d.organization_id = ${organizationId} and d.occurrence_id = wanted.id order by d.id desc limit ${sampled}
      ) last
      left join channels c on c.organization_id = ${organizationId} and c.id = last.channel_id
      where last.status = 'pending' and last.due_at = 'infinity' limit 1
    ) delivery on true`.execute(db);
  return new Map(rows.map(({ id, ...hold }) => [id, hold]));
}
