/** Reads occurrences that wait for an approval, and those that did. */
import { sql } from 'kysely';
import type { CanaryFigures } from '../../core/decision/guards/canary.ts';
import { type HoldState, openHoldStates } from '../../core/decision/guards/guard.ts';
import type { Db } from '../connection/pool.ts';
import type { HoldCounts, HoldSample } from '../ledger/expand/holds.ts';
import { pathJoins } from './occurrences.ts';

export interface HoldRow {
  occurrence: string;
  /** prj/app/evt; null when the event has been deleted. */
  event: string | null;
  event_id: number;
  kind: string;
  state: HoldState;
  threshold: number;
  largest: number | null;
  held_at: Date;
  expires_at: Date;
  counts: Partial<HoldCounts>;
  samples: HoldSample[];
  figures: CanaryFigures[] | null;
  is_counted: boolean;
  decided_at: Date | null;
  decided_by: string | null;
  note: string | null;
  per_second: number | null;
  /** The key, or `account:` and the id of the account, that triggered it. */
  key_id: string | null;
  triggered_by: string | null;
}

const columns = sql`
  h.occurrence_id as occurrence, p.slug || '/' || a.slug || '/' || e.slug as event, h.event_id, h.kind, h.state, h.threshold,
  h.largest, h.held_at, h.expires_at, h.counts, h.samples, h.figures, h.is_counted, h.decided_at, h.decided_by, h.note, h.per_second, o.key_id,
  coalesce(
    (select 'API key ' || k.name from keys k where k.organization_id = h.organization_id and k.id = o.key_id),
    (select c.email from accounts c where o.key_id like 'account:%' and c.id = substr(o.key_id, 9)::bigint)) as triggered_by`;

const joins = sql`join occurrences o on o.organization_id = h.organization_id and o.id = h.occurrence_id ${pathJoins}`;

/** Lists holds: undecided ones, the first to expire first; otherwise the latest decisions. */
export async function listHolds(
  db: Db,
  organizationId: number,
  { isOpen, max }: { isOpen: boolean; max: number },
): Promise<HoldRow[]> {
  const open = sql.raw(openHoldStates.map(state => `'${state}'`).join(', '));
  const { rows } = await sql<HoldRow>`
    select ${columns} from (
      select * from holds h
      where h.organization_id = ${organizationId} and h.state ${isOpen ? sql`` : sql`not`} in (${open}) and h.state <> 'waiting'
      order by ${isOpen ? sql`h.expires_at` : sql`h.decided_at desc`} limit ${max}
    ) h ${joins}
    order by ${isOpen ? sql`h.expires_at` : sql`h.decided_at desc`}`.execute(db);
  return rows;
}

export interface HoldSummary {
  /** Occurrences that wait for an approval. */
  open: number;
  /** Those that fail within `soonHours` without one. */
  expiring: number;
  /** Until the first of them fails; null: there is none. */
  firstMs: number | null;
}

const soonHours = 2;

/** Summarizes what waits for an approval in the whole installation. */
export async function summarizeHoldsAcrossTenants(db: Db): Promise<HoldSummary> {
  const open = sql.raw(openHoldStates.map(state => `'${state}'`).join(', '));
  const { rows } = await sql<HoldSummary>`
    select count(*)::int as open, (count(*) filter (where expires_at < now() + ${soonHours} * interval '1 hour'))::int as expiring,
      (extract(epoch from min(expires_at) - now()) * 1000)::float8 as "firstMs"
    from holds where state in (${open})`.execute(db);
  return rows[0]!;
}

/** Returns the latest hold of an occurrence. */
export async function findHold(db: Db, organizationId: number, occurrence: string): Promise<HoldRow | undefined> {
  const { rows } = await sql<HoldRow>`
    select ${columns} from holds h ${joins}
    where h.organization_id = ${organizationId} and h.occurrence_id = ${occurrence}
    order by h.held_at desc limit 1`.execute(db);
  return rows[0];
}
