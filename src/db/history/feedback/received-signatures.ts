/**
 * Signatures of requests that were accepted, as hashes, so that one is recognized when it is used again, in any process.
 * Those that are valid without end are kept as long as their channel, at most `maxKept` of each.
 */
import { hash } from 'node:crypto';
import { sql } from 'kysely';
import { toUuid } from '../../../core/ids.ts';
import type { Db } from '../../connection/pool.ts';

/** Signatures of a channel that are valid without end: replies and pressed buttons, which people send. */
const maxKept = 10_000;

export interface ReceivedSignature {
  /** What identifies the signature. */
  signature: string;
  body: string | Buffer;
  receivedAt: Date;
  /** Until when the signature is accepted; null: without end. */
  expiresAt: Date | null;
}

interface FirstUse {
  receivedAt: Date;
  /** Whether it was used for the same body then. */
  isSameBody: boolean;
}

const digest = (value: string | Buffer) => toUuid(hash('sha256', value).slice(0, 32));

/** Stores a signature unless it is known, and returns when and with which body it was used first. */
export async function rememberSignature(
  db: Db,
  organizationId: number,
  channelId: number,
  { signature, body, receivedAt, expiresAt }: ReceivedSignature,
): Promise<FirstUse> {
  const key = digest(signature);
  const { rows } = await sql<{ received_at: Date; is_same: boolean }>`
    insert into received_signatures as r (organization_id, channel_id, signature, body, received_at, expires_at)
    values (${organizationId}, ${channelId}, ${key}, ${digest(body)}, ${receivedAt}, ${expiresAt ?? 'infinity'})
    -- Without a change, the row that exists would not be returned.
    on conflict (organization_id, channel_id, signature) do update set body = r.body
    returning received_at, body = ${digest(body)}::uuid as is_same`.execute(db);
  if (expiresAt === null) await deleteBeyond(db, organizationId, channelId);
  const [{ received_at, is_same } = { received_at: receivedAt, is_same: true }] = rows;
  return { receivedAt: received_at, isSameBody: is_same };
}

async function deleteBeyond(db: Db, organizationId: number, channelId: number): Promise<void> {
  const own = sql`organization_id = ${organizationId} and channel_id = ${channelId} and expires_at = 'infinity'`;
  await sql`
    delete from received_signatures where ${own} and received_at < (
      select received_at from received_signatures where ${own} order by received_at desc offset ${maxKept} limit 1
    )`.execute(db);
}

/** Deletes signatures that are no longer accepted, and those of deleted channels. Returns how many. */
export async function deleteOldSignaturesAcrossTenants(db: Db, now: Date, max: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from received_signatures r using (
      (select organization_id, channel_id, signature from received_signatures
        where expires_at <= ${now} order by expires_at limit ${max})
      union all
      (select organization_id, channel_id, signature from received_signatures kept
        where expires_at = 'infinity' and not exists (
          select from channels c where c.organization_id = kept.organization_id and c.id = kept.channel_id)
        limit ${max})
    ) old
    where r.organization_id = old.organization_id and r.channel_id = old.channel_id and r.signature = old.signature`.execute(
    db,
  );
  return Number(numAffectedRows ?? 0);
}
