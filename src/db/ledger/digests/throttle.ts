/** When recipients were notified, for throttling. */
import { sql } from 'kysely';
import type pg from 'pg';
import { type ThrottleClaim, type ThrottleUses, throttleKey } from '../../../core/decision/throttle.ts';
import type { Db } from '../../connection/pool.ts';

interface Row {
  organization_id: number;
  notification_id: number;
  user_id: number;
  key: string;
  times: Date[];
}

export interface OrganizationClaim extends ThrottleClaim {
  organizationId: number;
}

/** By organization. */
export type TenantUses = Map<number, ThrottleUses>;

const columnsOf = (claims: readonly OrganizationClaim[]) => [
  claims.map(one => one.organizationId),
  claims.map(one => one.notificationId),
  claims.map(one => one.userId),
  claims.map(one => one.key),
];

const claimsText = `unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])
  as g (organization_id, notification_id, user_id, key)`;

// In primary key order, so that two workers cannot deadlock. Creates the row or locks the existing one, and returns the
// latest committed values.
const lock = {
  name: 'lock_throttle_uses',
  text: `
    insert into throttle_uses as t (organization_id, notification_id, user_id, key, expires_at)
    select g.organization_id, g.notification_id, g.user_id, g.key, now() from ${claimsText}
    order by 1, 2, 3, 4
    on conflict (organization_id, notification_id, user_id, key) do update set expires_at = t.expires_at
    returning t.organization_id, t.notification_id, t.user_id, t.key, t.times`,
};

/**
 * Locks the uses until the transaction ends, so that no one else counts under these rules. Each name must be unique
 * among the claims.
 */
export async function lockThrottleUsesAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  claims: readonly OrganizationClaim[],
): Promise<TenantUses> {
  const { rows } = await client.query<Row>({ ...lock, values: columnsOf(claims) });
  return toUses(rows);
}

const store = {
  name: 'store_throttle_uses',
  text: `
    update throttle_uses t set expires_at = g.expires_at, times = array(
      select to_timestamp(value::double precision / 1000) from jsonb_array_elements_text(g.times) as value)
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::timestamptz[], $6::jsonb[])
      as g (organization_id, notification_id, user_id, key, expires_at, times)
    where t.organization_id = g.organization_id and t.notification_id = g.notification_id
      and t.user_id = g.user_id and t.key = g.key`,
};

export async function storeThrottleUsesAcrossTenants(
  client: pg.PoolClient | pg.Pool,
  claims: readonly OrganizationClaim[],
  uses: TenantUses,
  now: number,
): Promise<void> {
  const times = claims.map(claim => uses.get(claim.organizationId)?.get(throttleKey(claim)) ?? []);
  // A digest counts from when it closes.
  const expires = claims.map(({ perMs }, i) => new Date(Math.max(now, ...times[i]!) + perMs));
  const values = [...columnsOf(claims), expires, times.map(one => JSON.stringify(one))];
  await client.query({ ...store, values });
}

/** Returns the uses without locking them, for simulations. */
export async function findThrottleUsesAcrossTenants(
  pool: pg.Pool,
  claims: readonly OrganizationClaim[],
): Promise<TenantUses> {
  const { rows } = await pool.query<Row>(
    `select t.organization_id, t.notification_id, t.user_id, t.key, t.times from ${claimsText}
     join throttle_uses t on t.organization_id = g.organization_id and t.notification_id = g.notification_id
       and t.user_id = g.user_id and t.key = g.key`,
    columnsOf(claims),
  );
  return toUses(rows);
}

function toUses(rows: Row[]): TenantUses {
  const uses: TenantUses = new Map();
  for (const { organization_id, notification_id, user_id, key, times } of rows) {
    const own = uses.get(organization_id) ?? new Map<string, number[]>();
    uses.set(organization_id, own);
    const name = throttleKey({ notificationId: notification_id, userId: user_id, key, max: 0, perMs: 0 });
    own.set(
      name,
      times.map(time => time.getTime()),
    );
  }
  return uses;
}

/** Deletes uses that no longer count. */
export async function deleteOldThrottleUsesAcrossTenants(db: Db, max: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from throttle_uses t using (
      select organization_id, notification_id, user_id, key from throttle_uses
      where expires_at < now() order by expires_at limit ${max} for update skip locked
    ) old
    where t.organization_id = old.organization_id and t.notification_id = old.notification_id
      and t.user_id = old.user_id and t.key = old.key`.execute(db);
  return Number(numAffectedRows ?? 0);
}
