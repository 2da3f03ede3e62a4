/**
 * Acknowledgements of an occurrence that each recipient has to acknowledge. Everyone who was notified in this round is asked. An
 * acknowledgement ends the steps for its user, and for notifications that one acknowledgement ends; the last one that is missing
 * acknowledges the occurrence as any other does (answers.ts). All are serialized by the lock of the occurrence.
 */
import type pg from 'pg';
import { runText } from '../../../core/decision/steps.ts';
import { cancelDigestItems, notEndedText } from '../digests/digest-items.ts';
import { recordResponse } from '../steps/rounds.ts';
import { type AnswerResult, type AnswerState, answerColumns, type Missing } from './answer-result.ts';
import { announceStop, completeIfOver, type StopResult, stopDeliveries } from './occurrence-ends.ts';

export interface OwnAcknowledgement {
  /** Undefined: someone who is no user. */
  userId: number | undefined;
  /** The notifications whose recipients each have to acknowledge. */
  notifications: readonly number[];
}

const maxMissing = 20;

const isAsked = `d.step > 0 and d.status <> all('{suppressed,cancelled,expired}')`;

// The organization is compared as a sum, as in ../deliver/notified.ts.
const readAsked = {
  text: `
    select distinct d.user_id from unnest($3::bigint[]) as n (id), lateral (
      select max(base) as base from steps
      where organization_id = $1 and occurrence_id = $2 and notification_id = n.id and number > 0
    ) s, lateral (
      select user_id from deliveries d
      where d.organization_id + 0 = $1 and d.occurrence_id = $2 and d.notification_id = n.id and ${runText('d.step')} > s.base and ${isAsked}
      offset 0
    ) d`,
};

const stopOwn = stopDeliveries(
  `and (d.step > 0 or d.reason = 'silenced') and d.digest_id is null and (d.user_id = $4 or d.step > 0 and d.notification_id <> all($5::bigint[]))`,
);

/** Messages of digests contain other occurrences. */
const updateOwn = {
  text: `
    insert into message_updates as m (organization_id, occurrence_id, delivery_id, change, changed_by, changed_at)
    select organization_id, occurrence_id, id, 'acknowledged', $4, now() from deliveries
    where organization_id + 0 = $1 and occurrence_id = $2 and user_id = $3 and step > 0 and status = 'sent' and digest_id is null
      and provider = any($5::text[])
    on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
      changed_by = excluded.changed_by, changed_at = excluded.changed_at, until = null, status = 'waiting', attempts = 0,
      due_at = case when m.claimed then m.due_at else now() end`,
};

interface Request extends OwnAcknowledgement {
  by: string;
  updatable: readonly string[];
}

type Locked = AnswerState & { users: number[]; is_open: boolean; ms: number };

/** Returns what has changed; undefined if no one else is missing, or the occurrence is not open: then the caller goes on. */
export async function acknowledgeAlone(
  client: pg.PoolClient,
  organizationId: number,
  id: string,
  { userId, notifications, by, updatable }: Request,
): Promise<AnswerResult | undefined> {
  const key = [organizationId, id];
  const { rows } = await client.query<Locked>(
    `select ${answerColumns}, coalesce(acknowledged_users, '[]') as users,
       acknowledged_at is null and resolved_at is null and cancelled_at is null as is_open,
       greatest(0, extract(epoch from now() - created_at) * 1000)::float8 as ms
     from occurrences where organization_id = $1 and id = $2 for update`,
    key,
  );
  const [locked] = rows;
  if (!locked?.is_open) return undefined;
  const { users, is_open: _, ms, ...state } = locked;
  const found = await client.query<{ user_id: number }>({ ...readAsked, values: [...key, notifications] });
  const asked = new Set([...users, ...found.rows.map(row => row.user_id)]);
  const open = [...asked].filter(user => !users.includes(user));
  const unchanged = { ...state, isFirst: false, cancelled: 0, ms, ended: [] };
  if (userId === undefined || !asked.has(userId)) {
    return { ...unchanged, missing: await name(client, organizationId, open), notAsked: true };
  }
  if (users.includes(userId)) return { ...unchanged, missing: await name(client, organizationId, open) };
  const left = open.filter(user => user !== userId);
  if (left.length === 0) return undefined;
  await client.query(
    `with ended as (
       update steps set status = 'ended', reason = 'acknowledged', owner = null, ended_at = now()
       where organization_id = $1 and occurrence_id = $2 and status = 'waiting' and notification_id <> all($4::bigint[])
       returning 1
     )
     update occurrences set acknowledged_users = coalesce(acknowledged_users, '[]') || to_jsonb($3::bigint),
       escalating = greatest(0, escalating - (select count(*) from ended))
     where organization_id = $1 and id = $2 returning ${announceStop}`,
    [...key, userId, notifications],
  );
  const stopped = await client.query<StopResult>(stopOwn, [...key, 'acknowledged', userId, notifications]);
  await recordResponse(client, organizationId, id, { kind: 'acknowledged', by });
  if (updatable.length > 0) await client.query({ ...updateOwn, values: [...key, userId, by, updatable] });
  const over = await completeIfOver(client, organizationId, id);
  const result = stopped.rows[0]!;
  return {
    ...state,
    isFirst: true,
    cancelled: result.stopped,
    ms,
    ended: [...result.ended, ...over],
    missing: await name(client, organizationId, left),
  };
}

/** Returns who was notified in this round and is none of the users who have acknowledged. */
export async function readMissing(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  { notifications, users }: { notifications: readonly number[]; users: readonly number[] },
): Promise<Missing> {
  const { rows } = await pool.query<{ user_id: number }>({ ...readAsked, values: [organizationId, id, notifications] });
  const asked = new Set(rows.map(row => row.user_id));
  return name(
    pool,
    organizationId,
    [...asked].filter(user => !users.includes(user)),
  );
}

async function name(
  client: pg.PoolClient | pg.Pool,
  organizationId: number,
  users: readonly number[],
): Promise<Missing> {
  const { rows } = await client.query<{ username: string }>(
    `select username from users where organization_id = $1 and id = any($2::bigint[]) order by username limit ${maxMissing}`,
    [organizationId, users],
  );
  return { users: rows.map(({ username }) => username), count: users.length };
}

/** Takes the user's messages about the occurrence out of bundles. What a crash leaves there is dropped when the bundle is sent. */
export async function cancelOwnItems(
  pool: pg.Pool,
  organizationId: number,
  id: string,
  userId: number | undefined,
  answered: AnswerResult,
): Promise<AnswerResult> {
  const { rows } = await pool.query<{ id: number }>(
    `select id from deliveries
     where organization_id + 0 = $1 and occurrence_id = $2 and user_id = $3 and step > 0 and digest_id is not null and status ${notEndedText}`,
    [organizationId, id, userId],
  );
  if (rows.length === 0) return answered;
  const only = rows.map(row => row.id);
  const items = await cancelDigestItems(pool, organizationId, id, { only, reason: 'acknowledged' });
  return { ...answered, cancelled: answered.cancelled + items.stopped, ended: [...answered.ended, ...items.ended] };
}
