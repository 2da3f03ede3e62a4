/** Calls of heartbeats: a batch of them changes the states and is kept in one transaction. */

import { sql } from 'kysely';
import type pg from 'pg';
import { heartbeatLimits } from '../../../core/heartbeats/rhythm.ts';
import { applyCall, type CallKind, type HeartbeatCall, type Watched } from '../../../core/heartbeats/state.ts';
import { uuidv7 } from '../../../core/ids.ts';
import type { Db } from '../../connection/pool.ts';
import { inPlainTransaction } from '../../connection/transaction.ts';
import { keyOf, type StateRow, stateText, storeLockedStatesAcrossTenants } from './states.ts';

export interface NewCall extends HeartbeatCall {
  organization_id: number;
  heartbeat_id: number;
  exitStatus: number | null;
  method: string;
  userAgent: string;
  body: Buffer;
  /** Size of the whole body. */
  bytes: number;
}

/** `stored`: false if the heartbeat has been deleted. `acts`: something is to be triggered or resolved now. */
export interface CallResult {
  stored: boolean;
  acts: boolean;
}

type LockedRow = StateRow & Watched & { calls: number };

/** Stores a batch of any tenants' calls in their order. */
export async function storeCallsAcrossTenants(pool: pg.Pool, items: readonly NewCall[]): Promise<CallResult[]> {
  const byHeartbeat = Map.groupBy(items, keyOf);
  const firsts = [...byHeartbeat.values()].map(([first]) => first!);
  return inPlainTransaction(pool, async client => {
    const { rows } = await client.query<LockedRow>({
      name: 'lock_heartbeat_states',
      text: `
        select s.organization_id, s.heartbeat_id, s.calls, ${stateText}, h.every, h.timezone, h.grace, h.enabled
        from (
          select * from unnest($1::bigint[], $2::bigint[]) as g (organization_id, heartbeat_id) order by 1, 2
        ) g, lateral (
          -- A join would read all heartbeats once they are many.
          select * from heartbeat_states
          where organization_id = g.organization_id and heartbeat_id = g.heartbeat_id for update
        ) s, lateral (
          select * from heartbeats where organization_id = g.organization_id and id = g.heartbeat_id offset 0
        ) h`,
      values: [firsts.map(one => one.organization_id), firsts.map(one => one.heartbeat_id)],
    });
    const locked = new Map(rows.map(row => [keyOf(row), row]));
    const changed = rows.map(row => {
      const calls = byHeartbeat.get(keyOf(row))!;
      const state: LockedRow = { ...row };
      for (const call of calls) Object.assign(state, applyCall(state, row, call, uuidv7(call.at)));
      return { ...state, calls: calls.length };
    });
    const kept = rows.flatMap(row =>
      byHeartbeat
        .get(keyOf(row))!
        .map((call, i) => ({ call, slot: (row.calls + i) % heartbeatLimits.keptCalls }))
        .slice(-heartbeatLimits.keptCalls),
    );
    await storeLockedStatesAcrossTenants(client, changed);
    await keepCalls(client, kept);
    const acting = new Set(changed.filter(({ alert }) => alert === 'opening' || alert === 'closing').map(keyOf));
    return items.map(item => ({ stored: locked.has(keyOf(item)), acts: acting.has(keyOf(item)) }));
  });
}

async function keepCalls(client: pg.ClientBase, kept: readonly { call: NewCall; slot: number }[]): Promise<void> {
  await client.query({
    name: 'keep_heartbeat_calls',
    text: `
      insert into heartbeat_calls
        (organization_id, heartbeat_id, slot, id, kind, exit_status, run_id, method, user_agent, body, bytes)
      select * from unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::uuid[], $5::text[], $6::smallint[], $7::text[],
        $8::text[], $9::text[], $10::bytea[], $11::bigint[])
      on conflict (organization_id, heartbeat_id, slot) do update set
        id = excluded.id, kind = excluded.kind, exit_status = excluded.exit_status, run_id = excluded.run_id,
        method = excluded.method, user_agent = excluded.user_agent, body = excluded.body, bytes = excluded.bytes`,
    values: [
      kept.map(({ call }) => call.organization_id),
      kept.map(({ call }) => call.heartbeat_id),
      kept.map(({ slot }) => slot),
      kept.map(({ call }) => uuidv7(call.at)),
      kept.map(({ call }) => call.kind),
      kept.map(({ call }) => call.exitStatus),
      kept.map(({ call }) => call.runId),
      kept.map(({ call }) => call.method),
      kept.map(({ call }) => call.userAgent),
      kept.map(({ call }) => call.body),
      kept.map(({ call }) => call.bytes),
    ],
  });
}

export interface StoredCall {
  id: string;
  kind: CallKind;
  exit_status: number | null;
  run_id: string | null;
  method: string;
  user_agent: string;
  body: Buffer;
  bytes: number;
  /** Id of the call that began the run which this one ended; null: none did. */
  began: string | null;
}

/** Returns a page of the calls that are kept, newest first. */
export async function listCalls(
  db: Db,
  organizationId: number,
  heartbeatId: number,
  { after, limit }: { after: string; limit: number },
): Promise<StoredCall[]> {
  const { rows } = await sql<StoredCall>`
    select c.id, c.kind, c.exit_status, c.run_id, c.method, c.user_agent, c.body, c.bytes::float8 as bytes, case
      when c.kind in ('success', 'fail') and c.previous_kind = 'start' then c.previous_id end as began
    from (
      select *, lag(kind) over runs as previous_kind, lag(id) over runs as previous_id from heartbeat_calls
      where organization_id = ${organizationId} and heartbeat_id = ${heartbeatId} and kind <> 'log'
      window runs as (partition by run_id order by id)
      union all
      select *, null, null from heartbeat_calls
      where organization_id = ${organizationId} and heartbeat_id = ${heartbeatId} and kind = 'log'
    ) c ${after === '' ? sql`` : sql`where c.id < ${after}`} order by c.id desc limit ${limit}`.execute(db);
  return rows;
}
