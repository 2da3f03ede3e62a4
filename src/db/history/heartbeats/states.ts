/** States of heartbeats as rows, which several statements read and store. */
import type pg from 'pg';
import type { HeartbeatState } from '../../../core/heartbeats/state.ts';

const columns = {
  status: 'text',
  reason: 'text',
  since: 'timestamptz',
  last_ping_at: 'timestamptz',
  started_at: 'timestamptz',
  run_id: 'text',
  expected_at: 'timestamptz',
  missing_at: 'timestamptz',
  alert: 'text',
  incident_id: 'uuid',
  due_at: 'timestamptz',
} as const satisfies Record<keyof HeartbeatState, string>;

const names = Object.keys(columns) as (keyof HeartbeatState)[];

/** The columns of a state, of the table alias `s`. */
export const stateText = names.map(name => `s.${name}`).join(', ');

export interface StateRow extends HeartbeatState {
  organization_id: number;
  heartbeat_id: number;
}

export function keyOf({ organization_id, heartbeat_id }: Pick<StateRow, 'organization_id' | 'heartbeat_id'>): string {
  return `${organization_id}/${heartbeat_id}`;
}

/** Stores states whose rows this transaction has locked. `calls` of each are added to its number of calls. */
export async function storeLockedStatesAcrossTenants(
  client: Pick<pg.ClientBase, 'query'>,
  rows: readonly (StateRow & { calls?: number })[],
): Promise<void> {
  const types = names.map((name, i) => `$${i + 4}::${columns[name]}[]`).join(', ');
  await client.query({
    name: 'store_heartbeat_states',
    text: `
      update heartbeat_states s set calls = s.calls + g.calls, ${names.map(name => `${name} = g.${name}`).join(', ')}
      from unnest($1::bigint[], $2::bigint[], $3::int[], ${types})
        as g (organization_id, heartbeat_id, calls, ${names.join(', ')})
      where s.organization_id = g.organization_id and s.heartbeat_id = g.heartbeat_id`,
    values: [
      rows.map(row => row.organization_id),
      rows.map(row => row.heartbeat_id),
      rows.map(row => row.calls ?? 0),
      ...names.map(name => rows.map(row => row[name])),
    ],
  });
}
