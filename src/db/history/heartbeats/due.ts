/**
 * What heartbeats have to be acted on: those that are missing, and those whose event is to be triggered or whose occurrence is to be
 * resolved. A claim moves `due_at` into the near future, so what a process leaves behind is due again. See core/heartbeats/state.ts.
 */
import type pg from 'pg';
import { judgeMissing, type Watched } from '../../../core/heartbeats/state.ts';
import { uuidv7 } from '../../../core/ids.ts';
import type { JsonObject } from '../../../core/json.ts';
import { inPlainTransaction } from '../../connection/transaction.ts';
import { stoppedText } from '../../ledger/moving-text.ts';
import { type StateRow, stateText, storeLockedStatesAcrossTenants } from './states.ts';

/** A gap of this many seconds in which no process could receive calls is an outage. */
const outageSeconds = 10;
export const receivingEveryMs = 3_000;
const claimSeconds = 30;

/**
 * Records that calls can be received. If none could be for a while, that was an outage: processes wait an interval before they say
 * that calls which were expected in it are missing.
 */
export async function noteReceivingAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query({
    name: 'note_receiving',
    text: `
      update heartbeat_watch set
        outage_from = case when receiving_at < now() - interval '${outageSeconds} seconds' then receiving_at else outage_from end,
        outage_until = case when receiving_at < now() - interval '${outageSeconds} seconds' then now() else outage_until end,
        receiving_at = now()
      where receiving_at < now() - interval '1 second'`,
  });
}

/** Returns the milliseconds until the next heartbeat is due; null: none is within the time. */
export async function findNextDueAcrossTenants(pool: pg.Pool, withinMs: number): Promise<number | null> {
  const { rows } = await pool.query<{ in_ms: number | null }>({
    name: 'find_next_due_heartbeat',
    text: `
      select (extract(epoch from min(due_at) - now()) * 1000)::float8 as in_ms from heartbeat_states
      where due_at <= now() + $1 * interval '1 ms'`,
    values: [withinMs],
  });
  return rows[0]!.in_ms;
}

export interface ClaimedHeartbeat extends StateRow, Watched {
  occurrence_id: string | null;
  slug: string;
  name: string;
  event: string;
  severity: string | null;
  context: JsonObject | null;
  /** Slugs. */
  organization: string;
  project: string;
  application: string;
}

type DueRow = ClaimedHeartbeat & { now: Date; outage_from: Date | null; outage_until: Date | null };

/** Makes heartbeats down whose call is missing, and claims those that need an action. Returns these, and how many were due. */
export async function claimDueAcrossTenants(
  pool: pg.Pool,
  limit: number,
): Promise<{ due: number; claimed: ClaimedHeartbeat[] }> {
  return inPlainTransaction(pool, async client => {
    const { rows } = await client.query<DueRow>({
      name: 'claim_due_heartbeats',
      text: `
        select s.organization_id, s.heartbeat_id, s.occurrence_id, ${stateText}, h.slug, h.name, h.every, h.timezone, h.grace,
          h.enabled, h.event, h.severity, h.context, o.slug as organization, p.slug as project, a.slug as application,
          date_trunc('milliseconds', now()) as now, w.outage_from, w.outage_until
        from heartbeat_watch w, lateral (
          select * from heartbeat_states
          where due_at <= now() and organization_id <> all(${stoppedText})
            and (alert is not null or w.receiving_at > now() - interval '${outageSeconds} seconds')
          order by due_at limit $1 for update skip locked
        ) s, lateral (
          -- A join would read all heartbeats once they are many.
          select * from heartbeats where organization_id = s.organization_id and id = s.heartbeat_id offset 0
        ) h
        join applications a on a.organization_id = h.organization_id and a.id = h.application_id
        join projects p on p.organization_id = a.organization_id and p.id = a.project_id
        join organizations o on o.id = h.organization_id
        order by s.due_at`,
      values: [limit],
    });
    const changed = rows.map(row => {
      const { now, outage_from: from, outage_until: until } = row;
      const outage = from && until ? { from, until } : undefined;
      const at = now.getTime();
      const state = row.alert === null ? { ...row, ...judgeMissing(row, row, outage, at, uuidv7(at)) } : row;
      return state.alert === null ? state : { ...state, due_at: new Date(at + claimSeconds * 1_000) };
    });
    if (changed.length > 0) await storeLockedStatesAcrossTenants(client, changed);
    return { due: rows.length, claimed: changed.filter(({ alert }) => alert !== null) };
  });
}

export interface ActionResult {
  organization_id: number;
  heartbeat_id: number;
  incident_id: string;
  /** The occurrence that was opened; null: one was resolved. */
  occurrence_id: string | null;
}

/** Stores what was done. Where the heartbeat has changed meanwhile, the opposite is due at once. */
export async function settleActionsAcrossTenants(pool: pg.Pool, items: readonly ActionResult[]): Promise<undefined[]> {
  await pool.query({
    name: 'settle_heartbeat_actions',
    text: `
      update heartbeat_states s set error = null,
        occurrence_id = g.occurrence_id,
        alert = case when g.occurrence_id is not null then case when s.status = 'down' then 'open' else 'closing' end
          when s.status = 'down' then 'opening' end,
        incident_id = case when g.occurrence_id is not null then s.incident_id when s.status = 'down' then g.next_id end,
        due_at = case when (g.occurrence_id is not null) <> (s.status = 'down') then now()
          when g.occurrence_id is null then s.missing_at end
      from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::uuid[], $5::uuid[])
        as g (organization_id, heartbeat_id, incident_id, occurrence_id, next_id)
      where s.organization_id = g.organization_id and s.heartbeat_id = g.heartbeat_id and s.incident_id = g.incident_id
        and s.alert = case when g.occurrence_id is null then 'closing' else 'opening' end`,
    values: [
      items.map(item => item.organization_id),
      items.map(item => item.heartbeat_id),
      items.map(item => item.incident_id),
      items.map(item => item.occurrence_id),
      items.map(() => uuidv7(Date.now())),
    ],
  });
  return items.map(() => undefined);
}

/**
 * Stores why the event could not be triggered, and tries again later: soon if it can succeed, or else after someone may have corrected
 * it. One that can only fail is given up if the heartbeat is up again.
 */
export async function postponeAction(
  pool: pg.Pool,
  organizationId: number,
  { heartbeat_id, incident_id }: Pick<ClaimedHeartbeat, 'heartbeat_id' | 'incident_id'>,
  { error, seconds, isFinal }: { error: string; seconds: number; isFinal: boolean },
): Promise<void> {
  await pool.query({
    name: 'postpone_heartbeat_action',
    text: `
      update heartbeat_states set error = case when status = 'down' or not $6 then $4::text end,
        alert = case when status = 'down' or not $6 then alert end,
        due_at = case when status = 'down' or not $6 then now() + $5 * interval '1 second' else missing_at end
      where organization_id = $1 and heartbeat_id = $2 and incident_id = $3 and alert in ('opening', 'closing')`,
    values: [organizationId, heartbeat_id, incident_id, error, seconds, isFinal],
  });
}
