import { sql } from 'kysely';
import { sha256 } from '../core/tokens.ts';
import type { Db } from './pool.ts';

/**
 * When a guess may be made again; undefined when this one may be made, and then it is counted already. The one that
 * makes `most` within a quarter of an hour locks as it is taken, so that guesses at the same time find it locked.
 */
export async function takeAttemptAcrossTenants(
  db: Db,
  email: string,
  scope: string,
  most: number,
): Promise<Date | undefined> {
  const emailHash = sha256(email);
  const taken = await sql`
    insert into sign_in_limits as a (email_hash, scope, attempts) values (${emailHash}, ${scope}, 1)
    on conflict (email_hash, scope) do update set
      attempts = case when ${isOver} then 1 else a.attempts + 1 end,
      since = case when ${isOver} then now() else a.since end,
      locked_until = case when ${isOver} or a.attempts < ${most}::int - 1 then null
        else now() + least(interval '1 minute' * 2 ^ least(a.attempts - ${most}::int + 1, 10), interval '15 minutes') end
    where a.locked_until is null or a.locked_until <= now()
    returning 1`.execute(db);
  if (taken.rows.length > 0) return undefined;
  const row = await db
    .selectFrom('sign_in_limits')
    .select('locked_until')
    .where('email_hash', '=', emailHash)
    .where('scope', '=', scope)
    .executeTakeFirst();
  return row?.locked_until ?? new Date();
}

const isOver = sql`greatest(a.since, a.locked_until) < now() - interval '15 minutes'`;

/** In these scopes, or in all of them. */
export async function forgetAttemptsAcrossTenants(db: Db, email: string, scopes?: readonly string[]): Promise<void> {
  let query = db.deleteFrom('sign_in_limits').where('email_hash', '=', sha256(email));
  if (scopes) query = query.where('scope', 'in', scopes);
  await query.execute();
}

export async function deleteOldAttemptsAcrossTenants(db: Db): Promise<void> {
  await sql`delete from sign_in_limits a where ${isOver}`.execute(db);
}
