/** Codes that verify addresses. */
import { sql } from 'kysely';
import { verificationLimits } from '../../core/audience/verification.ts';
import type { Db } from '../connection/pool.ts';

interface NewCode {
  userId: number;
  addressId: number;
  /** Keyed hash of the value of the address. */
  sentTo: string;
  codeHash: string;
}

/** Stores a code for as long as it is valid, or returns the seconds until limits allow another one. Call it in a transaction. */
export async function takeCode(
  db: Db,
  organizationId: number,
  { userId, addressId, sentTo, codeHash }: NewCode,
): Promise<{ id: number; expires_at: Date } | { waitSeconds: number }> {
  const { minutes, attempts, perAddress, pauseSeconds, perUser, perOrganization } = verificationLimits;
  // Concurrent requests would all find the last one that is allowed.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`belfry verification ${organizationId}`}, 0))`.execute(db);
  const { rows } = await sql<{ seconds: number | null }>`
    with recent as materialized (
      select user_id, sent_to, created_at from verification_codes
      where organization_id = ${organizationId} and created_at > now() - interval '1 day'
    ), ends (at) as (
      (select created_at + ${pauseSeconds} * interval '1 second' from recent where sent_to = ${sentTo}
        order by created_at desc limit 1)
      union all
      (select created_at + interval '1 day' from recent where sent_to = ${sentTo}
        order by created_at desc offset ${perAddress - 1} limit 1)
      union all
      (select created_at + interval '1 day' from recent where user_id = ${userId}
        order by created_at desc offset ${perUser - 1} limit 1)
      union all
      (select created_at + interval '1 hour' from recent order by created_at desc offset ${perOrganization - 1} limit 1)
    )
    select ceil(extract(epoch from max(at) - now()))::int as seconds from ends`.execute(db);
  const seconds = rows[0]?.seconds ?? 0;
  if (seconds > 0) return { waitSeconds: seconds };
  return db
    .insertInto('verification_codes')
    .values({
      organization_id: organizationId,
      user_id: userId,
      address_id: addressId,
      sent_to: sentTo,
      code_hash: codeHash,
      attempts_left: attempts,
      expires_at: sql`now() + ${minutes} * interval '1 minute'`,
    })
    .returning(['id', 'expires_at'])
    .executeTakeFirstOrThrow();
}

/** The code can no longer be entered. Returns whether it could be. */
export async function endCode(db: Db, organizationId: number, id: number): Promise<boolean> {
  const ended = await db
    .updateTable('verification_codes')
    .set({ code_hash: null })
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('code_hash', 'is not', null)
    .executeTakeFirst();
  return ended.numUpdatedRows === 1n;
}

/** Counts an attempt to enter the last code of the address. Returns undefined when there is none, or no attempt left. */
export async function takeAttempt(db: Db, organizationId: number, addressId: number) {
  const { rows } = await sql<{ id: number; code_hash: string; attempts_left: number }>`
    update verification_codes set attempts_left = attempts_left - 1
    where organization_id = ${organizationId} and id = (
        select id from verification_codes where organization_id = ${organizationId} and address_id = ${addressId}
        order by id desc limit 1)
      and code_hash is not null and attempts_left > 0 and expires_at > now()
    returning id, code_hash, attempts_left`.execute(db);
  return rows[0];
}

/** Returns the ids of the user's addresses whose last code can be entered. */
export async function listAwaitingCode(db: Db, organizationId: number, userId: number): Promise<Set<number>> {
  const { rows } = await sql<{ address_id: number }>`
    select address_id from (
      select distinct on (address_id) address_id, code_hash, attempts_left, expires_at from verification_codes
      where organization_id = ${organizationId} and user_id = ${userId}
        and created_at > now() - ${verificationLimits.minutes} * interval '1 minute'
      order by address_id, id desc) last
    where code_hash is not null and attempts_left > 0 and expires_at > now()`.execute(db);
  return new Set(rows.map(row => row.address_id));
}
