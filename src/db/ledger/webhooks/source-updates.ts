/**
 * The queue of requests to the senders of alerts. The transaction that acknowledges or resolves an occurrence stores a row for each of
 * its alerts whose source reports back; a row that is there gets the new state. A claim moves the due time, so that the rows of
 * a dead worker are claimed by another. A row stays as the record of what became of it.
 *
 * | state                     | event                                   | next state                             |
 * | ------------------------- | --------------------------------------- | -------------------------------------- |
 * | —, `done`, `failed`       | a person changes the occurrence         | `waiting`, due now                     |
 * | `waiting`                 | due, claimed                            | the same, claimed, due in 60 s         |
 * | `waiting`                 | accepted by the sender                  | `done`                                 |
 * | `waiting`                 | a temporary failure, attempts are left  | the same, due after a backoff          |
 * | `waiting`                 | a permanent failure, or the last one    | `failed`                               |
 * | `waiting`, claimed        | a person changes the occurrence again   | the same, with the later state; due when the attempt ends |
 */
import type pg from 'pg';
import type { JsonObject } from '../../../core/json.ts';
import { type SourceUpdate, sourceUpdateLimits, type UpdateState } from '../../../core/sources/updates/update.ts';
import { waitingText } from '../deliver/message-updates.ts';
import { stoppedText } from '../moving-text.ts';

// The sender needs no request about what it has said itself: its alert is in that state already. The range with an order is as in
// ../../history/sources/alerts.ts.
const queue = {
  name: 'queue_source_updates',
  text: `
    insert into source_updates as u (organization_id, occurrence_id, source_id, key, state, changed_by)
    select a.organization_id, a.occurrence_id, a.source_id, a.key, $3, $4
    from sources s, lateral (
      select * from source_alerts a
      where a.organization_id = s.organization_id and a.source_id = s.id and a.occurrence_id between $2 and $2
        and a.state <> 'resolved' and a.state <> $3
      order by a.occurrence_id limit ${sourceUpdateLimits.alerts}
    ) a
    where s.organization_id = $1 and s.update is not null and (s.update ? 'use' or s.update ? $3)
    on conflict (organization_id, occurrence_id, source_id, key) do update set state = excluded.state,
      changed_by = excluded.changed_by, changed_at = now(), status = 'waiting', attempts = 0,
      due_at = case when u.claimed and u.status = 'waiting' then u.due_at else now() end
    where u.state <> excluded.state`,
};

/** Queues the requests about an occurrence. Belongs to the transaction that changes it, which announces its end. */
export async function queueSourceUpdates(
  client: pg.PoolClient,
  organizationId: number,
  occurrenceId: string,
  { state, by }: { state: UpdateState; by: string },
): Promise<void> {
  await client.query({ ...queue, values: [organizationId, occurrenceId, state, by] });
}

const listWaiting = { name: 'list_waiting_source_updates', text: waitingText('source_updates') };

/** Returns the organizations with waiting rows, and in how many milliseconds the first of each is due. */
export async function listWaitingSourceUpdatesAcrossTenants(
  pool: pg.Pool,
): Promise<{ organization_id: number; ms: number }[]> {
  const { rows } = await pool.query<{ organization_id: number; ms: number }>(listWaiting);
  return rows;
}

/** How long a claim lasts: longer than an attempt takes. */
export const sourceUpdateClaimSeconds = 60;

export interface ClaimedSourceUpdate {
  organization_id: number;
  occurrence_id: string;
  source_id: number;
  key: string;
  state: UpdateState;
  changed_by: string;
  claims: number;
  attempts: number;
  reference: string | null;
  /** Of the source. */
  application_id: number;
  slug: string;
  organization: string;
  update: SourceUpdate | null;
  secrets: Buffer;
  /** Null: the alert has been forgotten. */
  title: string | null;
  severity: string | null;
  context: JsonObject | null;
}

// By ctid: planned while there were few rows, a join by the key read all updates of the source.
const claim = {
  name: 'claim_source_updates',
  text: `
    with picked as (
      select ctid from source_updates
      where organization_id = $1 and status = 'waiting' and due_at <= now() and organization_id <> all(${stoppedText})
      order by organization_id, due_at limit $2 for update skip locked
    ), claimed as (
      update source_updates u set claimed = true, claims = u.claims + 1, attempts = u.attempts + 1,
        due_at = now() + ${sourceUpdateClaimSeconds} * interval '1 second'
      from picked p where u.ctid = p.ctid and u.organization_id = $1
      returning u.organization_id, u.occurrence_id, u.source_id, u.key, u.state, u.changed_by, u.claims, u.attempts, u.reference
    )
    select c.*, s.application_id, s.slug, g.slug as organization, s.update, s.secrets, a.title, a.severity,
      coalesce(a.context, o.context) as context
    from claimed c
    join sources s on s.organization_id = c.organization_id and s.id = c.source_id
    join organizations g on g.id = c.organization_id
    left join lateral (
      select title, severity, context from source_alerts
      where organization_id = c.organization_id and source_id = c.source_id and key between c.key and c.key
      order by key limit 1
    ) a on true
    left join occurrences o on o.organization_id = c.organization_id and o.id = c.occurrence_id`,
};

/** Claims due rows of an organization, oldest first. */
export async function claimSourceUpdates(
  pool: pg.Pool,
  organizationId: number,
  max: number,
): Promise<ClaimedSourceUpdate[]> {
  const { rows } = await pool.query<ClaimedSourceUpdate>({ ...claim, values: [organizationId, max] });
  return rows;
}

/** An attempt, with the names of JSON. */
export interface SourceUpdateEntry {
  at: string;
  state: UpdateState;
  by: string;
  outcome: 'done' | 'retrying' | 'failed';
  detail: string | null;
  ms: number;
}

export interface SourceUpdateOutcome {
  status: 'waiting' | 'done' | 'failed';
  /** In how many seconds to try again. */
  retrySeconds: number | null;
  /** Undefined: it stays as it is. */
  reference: string | null | undefined;
  /** Null when no attempt was made: then it does not count. */
  entry: SourceUpdateEntry | null;
}

// If the state has changed meanwhile, this outcome does not end the row: it is due now.
const settle = {
  name: 'settle_source_update',
  text: `
    update source_updates u set claimed = false,
      status = case when u.state = $6 then $7 else 'waiting' end,
      due_at = case when u.state = $6 then now() + coalesce($8::float8, 0) * interval '1 second' else now() end,
      attempts = u.attempts - case when $11::jsonb is null and u.state = $6 then 1 else 0 end,
      reference = case when $9 then $10 else u.reference end,
      log = case when $11::jsonb is null then u.log
        when jsonb_array_length(u.log) >= ${sourceUpdateLimits.keptEntries} then u.log - 0 || $11 else u.log || $11 end
    where u.organization_id = $1 and u.occurrence_id = $2 and u.source_id = $3 and u.key = $4 and u.claims = $5
      and u.status = 'waiting'
    returning u.status`,
};

/** Stores the outcome of a claim; a late one has no effect. Returns whether the row waits again. */
export async function settleSourceUpdate(
  pool: pg.Pool,
  organizationId: number,
  { occurrence_id, source_id, key, claims, state }: ClaimedSourceUpdate,
  { status, retrySeconds, reference, entry }: SourceUpdateOutcome,
): Promise<boolean> {
  const { rows } = await pool.query<{ status: string }>({
    ...settle,
    values: [
      ...[organizationId, occurrence_id, source_id, key, claims, state, status, retrySeconds],
      ...[reference !== undefined, reference ?? null, entry && JSON.stringify(entry)],
    ],
  });
  return rows[0]?.status === 'waiting';
}

/** Gives up all waiting rows, on a cloned database whose original sends them. */
export async function discardSourceUpdatesAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(`update source_updates set status = 'failed', claimed = false where status = 'waiting'`);
}
