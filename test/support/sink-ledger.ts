/** Invariants of the ledger that hold at any moment, even while messages are being sent: each statement reads one snapshot. */
import { runSql } from './sql.ts';

interface Scope {
  /** The organizations to check. Default: all. */
  own?: ReadonlySet<number>;
  /** Organizations that replayed deliveries: their statistics are larger, because they count every outcome. */
  replayed?: ReadonlySet<number>;
}

const ended = ['sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown'];
const isOwn = (alias: string) => `($2::bigint[] is null or ${alias}.organization_id = any($2))`;

/**
 * Finds occurrences with a wrong outcome, whose counts differ from their deliveries or that are not marked as ended, and statistics that do not
 * add up. Dry runs do not count.
 */
export async function findMistakes(url: string, { own, replayed = new Set() }: Scope = {}): Promise<unknown[]> {
  const organizations = own && [...own];
  const kept = ['deliveries', ...ended].map(name => `o.${name}`).join(', ');
  const real = ended.map(name => `count(d.id) filter (where d.status = '${name}')`).join(', ');
  const occurrences = await runSql(
    url,
    `select o.id, o.status, array[${kept}] as kept, array[count(d.id), ${real}] as real
     from occurrences o left join deliveries d on d.organization_id = o.organization_id and d.occurrence_id = o.id
     where ${isOwn('o')}
     group by o.organization_id, o.id
     having array[${kept}]::bigint[] <> array[count(d.id), ${real}]
       or (o.status = 'completed') <> (o.completed_at is not null)
       or (o.status = 'sending' and o.escalating = 0 and count(d.id) filter (where d.status <> all($1)) = 0)
       or (o.status = 'completed' and o.escalating > 0)
       or o.outcome is distinct from occurrence_outcome(o)
       or o.escalating <> (select count(*) from steps s where s.organization_id = o.organization_id
         and s.occurrence_id = o.id and s.status = 'waiting')`,
    [ended, organizations],
  );
  const statistics = await runSql(
    url,
    `select * from (
       select organization_id, event_id, channel_id, status, sum(count)::int as count
       from delivery_stats s where ${isOwn('s')} group by 1, 2, 3, 4
     ) s full join (
       select d.organization_id, o.event_id, d.channel_id, d.status, count(*)::int as count
       from deliveries d join occurrences o on o.organization_id = d.organization_id and o.id = d.occurrence_id
       where d.status = any($1) and ${isOwn('d')} and not o.options @> '{"dry_run":true}' group by 1, 2, 3, 4
     ) d using (organization_id, event_id, channel_id, status)
     where nullif(s.count, 0) is distinct from d.count and organization_id <> all($3::bigint[])`,
    [ended, organizations, [...replayed]],
  );
  return [...occurrences, ...statistics, ...(await findDigestMistakes(url, organizations))];
}

/** Finds digests with a wrong item count or without exactly one carrier delivery, and items without a digest. */
async function findDigestMistakes(url: string, organizations: number[] | undefined): Promise<unknown[]> {
  return runSql(
    url,
    `select g.id, g.items, count(d.id) as real, count(d.id) filter (where d.due_at <> '9999-12-31Z') as carriers
     from digests g left join deliveries d on d.organization_id = g.organization_id and d.digest_id = g.id
     where ${isOwn('g')}
     group by g.organization_id, g.id
     having g.items <> count(d.id)
       or (g.items > 0 and count(d.id) filter (where d.due_at <> '9999-12-31Z' and d.status <> all($1)) <> 1)
     union all
     select d.digest_id, 0, 1, 0 from deliveries d
     where d.digest_id is not null and d.status <> all($1) and ${isOwn('d')} and not exists (
       select from digests g where g.organization_id = d.organization_id and g.id = d.digest_id)`,
    [ended, organizations],
  );
}
