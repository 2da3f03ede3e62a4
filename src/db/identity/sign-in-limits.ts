import { sql } from 'kysely';
import { sha256 } from '../../core/identity/tokens.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Db } from '../connection/pool.ts';

/**
 * Counts an attempt. Returns undefined when it is allowed, or the time until which the scope is locked. The attempt that
 * reaches `max` within 15 minutes sets the lock as it is counted, so that concurrent attempts are refused.
 */
export async function takeAttemptAcrossTenants(
  db: Db,
  email: string,
  scope: string,
  max: number,
): Promise<Date | undefined> {
  const emailHash = sha256(email);
  const taken = await sql`
    insert into sign_in_limits as a (email_hash, scope, attempts) values (${emailHash}, ${scope}, 1)
    on conflict (email_hash, scope) do update set
      attempts = case when ${isWindowOver} then 1 else a.attempts + 1 end,
      since = case when ${isWindowOver} then now() else a.since end,
      locked_until = case when ${isWindowOver} or a.attempts < ${max}::int - 1 then null
        else now() + least(interval '1 minute' * 2 ^ least(a.attempts - ${max}::int + 1, 10), interval '15 minutes') end
    where a.locked_until is null or a.locked_until <= now()
    returning 1`.execute(db);
  if (taken.rows.length > 0) return undefined;
  const row = await db
    .selectFrom('sign_in_limits')
    .select('locked_until')
    .where('email_hash', '=', emailHash)
    .where('scope', '=', scope)
    .executeTakeFirst();
  return row?.locked_until ?? new Date(currentTime());
}

/** SQL condition: the counting window has passed. */
const isWindowOver = sql`greatest(a.since, a.locked_until) < now() - interval '15 minutes'`;

/** Clears the attempts in these scopes, or in all scopes. */
export async function forgetAttemptsAcrossTenants(db: Db, email: string, scopes?: readonly string[]): Promise<void> {
  let query = db.deleteFrom('sign_in_limits').where('email_hash', '=', sha256(email));
  if (scopes) query = query.where('scope', 'in', scopes);
  await query.execute();
}

export async function deleteOldAttemptsAcrossTenants(db: Db): Promise<void> {
  await sql`delete from sign_in_limits a where ${isWindowOver}`.execute(db);
}
