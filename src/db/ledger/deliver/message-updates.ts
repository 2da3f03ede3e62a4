/**
 * The queue of updates to messages that were already sent, because their occurrence was acknowledged, resolved or cancelled. The
 * transaction that ends the occurrence stores one row for it; workers list its deliveries page by page and store a row for
 * each message that its provider can change. A claim moves the due time, so that the rows of a dead worker are claimed by
 * another without any recovery. A row stays as the record of what became of the message.
 * docs/architecture.md has the state table.
 */
import type pg from 'pg';
import { isBundleIdText } from '../../../core/decision/bundle.ts';
import { type OccurrenceChange, type UpdateAction, updateLimits } from '../../../core/message/message-updates.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { stoppedText } from '../moving-text.ts';
import { outstandingText } from '../status-text.ts';

// Nothing is queued for organizations without a provider that can change messages.
const queueOccurrence = {
  name: 'queue_occurrence_update',
  text: `
    insert into message_updates (organization_id, occurrence_id, delivery_id, change, changed_by, changed_at, until)
    select $1, $2, 0, $3, $4, now(), $6
    where exists (
      select from channels c, jsonb_array_elements(c.providers) p
      where c.organization_id = $1 and p ->> 'use' = any($5::text[]))
    on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
      changed_by = excluded.changed_by, changed_at = excluded.changed_at, until = excluded.until, due_at = now(),
      claimed = false, attempts = 0, cursor = 0`,
};

/** Queues the update of all messages that the occurrence has sent. Belongs to the transaction that changes it. */
export async function queueOccurrenceUpdate(
  client: pg.PoolClient,
  organizationId: number,
  occurrenceId: string,
  {
    change,
    by,
    until = null,
    updatable,
  }: { change: OccurrenceChange; by: string | null; until?: Date | null; updatable: readonly string[] },
): Promise<void> {
  if (updatable.length === 0) return;
  await client.query({ ...queueOccurrence, values: [organizationId, occurrenceId, change, by, updatable, until] });
}

/**
 * SQL text: the organizations with waiting rows in a table of updates. Walks from one to the next, without reading the rows behind
 * the first.
 */
export const waitingText = (table: string) => `
    with recursive waiting as (
      (select organization_id, due_at from ${table} where status = 'waiting' order by organization_id, due_at limit 1)
      union all
      select following.* from waiting, lateral (
        select organization_id, due_at from ${table}
        where status = 'waiting' and organization_id > waiting.organization_id
        order by organization_id, due_at limit 1
      ) following
    )
    select organization_id, greatest(0, extract(epoch from due_at - now()) * 1000)::float8 as ms from waiting
    where organization_id <> all(${stoppedText})`;

const listDue = { name: 'list_due_updates', text: waitingText('message_updates') };

/** Returns the organizations with waiting rows, and in how many milliseconds the first of each is due. */
export async function listWaitingUpdatesAcrossTenants(
  pool: pg.Pool,
): Promise<{ organization_id: number; ms: number }[]> {
  const { rows } = await pool.query<{ organization_id: number; ms: number }>(listDue);
  return rows;
}

/** How long a claim lasts: longer than an attempt takes. */
export const updateClaimSeconds = 60;

export interface ClaimedUpdate {
  occurrence_id: string;
  /** 0: the deliveries of the occurrence have yet to be listed. */
  delivery_id: number;
  change: OccurrenceChange;
  changed_by: string | null;
  changed_at: Date;
  /** Until when it was snoozed. */
  until: Date | null;
  claims: number;
  attempts: number;
  /** Null if the delivery has been deleted, or for the occurrence itself. */
  channel_id: number | null;
  user_id: number;
  address: string | null;
  provider: string | null;
  provider_index: number;
  provider_message_id: string | null;
  priority: number;
  created_at: Date;
  sent_at: Date;
}

const claim = {
  name: 'claim_updates',
  text: `
    with picked as (
      select organization_id, occurrence_id, delivery_id from message_updates
      where organization_id = $1 and status = 'waiting' and due_at <= now() and organization_id <> all(${stoppedText})
      order by organization_id, due_at limit $2 for update skip locked
    ), claimed as (
      update message_updates m set claimed = true, claims = m.claims + 1,
        attempts = m.attempts + case when m.delivery_id = 0 then 0 else 1 end,
        due_at = now() + ${updateClaimSeconds} * interval '1 second'
      from picked p
      where m.organization_id = p.organization_id and m.occurrence_id = p.occurrence_id and m.delivery_id = p.delivery_id
      returning m.occurrence_id, m.delivery_id, m.change, m.changed_by, m.changed_at, m.until, m.claims,
        m.attempts
    )
    select c.*, d.* from claimed c
    left join lateral (
      select channel_id, user_id, address, provider, provider_index, provider_message_id, priority, created_at, sent_at
      from deliveries where organization_id = $1 and occurrence_id = c.occurrence_id and id = c.delivery_id limit 1
    ) d on true`,
};

/** Claims due rows, oldest first. */
export async function claimUpdates(pool: pg.Pool, organizationId: number, max: number): Promise<ClaimedUpdate[]> {
  const { rows } = await pool.query<ClaimedUpdate>({ ...claim, values: [organizationId, max] });
  return rows;
}

/** How long the alerts of a bundle may go on changing before its message is looked at: all are often acknowledged at once. */
const bundleDelayMs = 1_000;

const lockListing = {
  name: 'lock_update_listing',
  text: `
    select m.change, m.changed_by, m.changed_at, m.until, m.attempts, m.cursor, ${outstandingText('o')} as outstanding
    from message_updates m
    left join occurrences o on o.organization_id = m.organization_id and o.id = m.occurrence_id
    where m.organization_id = $1 and m.occurrence_id = $2 and m.delivery_id = 0
    for update of m skip locked`,
};

// Digests contain other occurrences, and a message that says that the occurrence is resolved needs no update. Messages of the round
// that begins when an occurrence is open again have their buttons and need none either. Bundles have a row of their own, whatever the
// number of alerts that change: see ../digests/bundle-updates.ts.
const listPage = {
  name: 'list_sent_for_updates',
  text: `
    with page as (
      select id, status, provider, digest_id, step, created_at from deliveries
      where organization_id = $1 and occurrence_id = $2 and id > $3
      order by organization_id, occurrence_id, id limit $4
    ), queued as (
      insert into message_updates as m (organization_id, occurrence_id, delivery_id, change, changed_by, changed_at, until)
      select $1, $2, id, $5, $6, $7, $9 from page
      where status = 'sent' and digest_id is null and step >= 0 and provider = any($8::text[])
        and ($5 <> 'reopened' or created_at < $7)
      on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
        changed_by = excluded.changed_by, changed_at = excluded.changed_at, until = excluded.until, status = 'waiting', attempts = 0,
        due_at = case when m.claimed then m.due_at else now() end
      where m.change <> excluded.change
        or excluded.change in ('acknowledged', 'snoozed', 'reopened') and m.changed_at < excluded.changed_at
    ), bundled as (
      insert into message_updates as m (organization_id, occurrence_id, delivery_id, change, changed_at, due_at)
      select distinct $1, digest_id, 0::bigint, $5, $7::timestamptz, now() + interval '${bundleDelayMs} milliseconds' from page
      where status = 'sent' and ${isBundleIdText('digest_id')} and step >= 0 and provider = any($8::text[])
      order by 2
      on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
        changed_at = excluded.changed_at, claimed = false, attempts = 0,
        due_at = case when m.claimed then excluded.due_at else least(m.due_at, excluded.due_at) end
    )
    select count(*)::int as listed, coalesce(max(id), 0)::bigint as last from page`,
};

const advanceListing = {
  name: 'advance_update_listing',
  text: `
    update message_updates set cursor = $3, attempts = $4, claimed = false, due_at = now() + $5 * interval '1 second'
    where organization_id = $1 and occurrence_id = $2 and delivery_id = 0`,
};

/**
 * Lists one page of an occurrence's deliveries and queues the messages that can be changed. Deliveries without an outcome may
 * still be sent, so they are listed again later.
 */
export async function listMessagesToUpdate(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  { updatable, pageSize }: { updatable: readonly string[]; pageSize: number },
): Promise<void> {
  const key = [organizationId, occurrenceId];
  await inLedgerTransaction(pool, async client => {
    type Listing = Pick<ClaimedUpdate, 'change' | 'changed_by' | 'changed_at' | 'until' | 'attempts'> & {
      cursor: number;
    };
    const { rows } = await client.query<Listing & { outstanding: number | null }>({ ...lockListing, values: key });
    const [listing] = rows;
    if (!listing) return;
    const { change, changed_by, changed_at, until, attempts, cursor, outstanding } = listing;
    const page = await client.query<{ listed: number; last: number }>({
      ...listPage,
      values: [...key, cursor, pageSize, change, changed_by, changed_at, updatable, until],
    });
    const { listed, last } = page.rows[0]!;
    const advance = (...values: number[]) => client.query({ ...advanceListing, values: [...key, ...values] });
    if (listed === pageSize) await advance(last, attempts, 0);
    else if ((outstanding ?? 0) > 0 && attempts < updateLimits.listings) await advance(0, attempts + 1, 2 ** attempts);
    else
      await client.query(
        'delete from message_updates where organization_id = $1 and occurrence_id = $2 and delivery_id = 0',
        key,
      );
  });
}

/** An entry in the log of a message, with the names of JSON. */
export interface UpdateEntry {
  at: string;
  change: OccurrenceChange;
  by: string | null;
  action: UpdateAction;
  outcome: 'done' | 'retrying' | 'failed';
  detail: string | null;
  ms: number;
}

export interface UpdateOutcome {
  organization_id: number;
  occurrence_id: string;
  delivery_id: number;
  /** The claim that this is the outcome of: a late outcome has no effect. */
  claims: number;
  change: OccurrenceChange;
  status: 'waiting' | 'done' | 'failed';
  /** When to try again. */
  due_at: Date | null;
  /** Null when no attempt was made: then it does not count. */
  entry: UpdateEntry | null;
}

// If another change was listed meanwhile, it is due now: this outcome does not end it.
const settle = {
  name: 'settle_updates',
  text: `
    update message_updates m set claimed = false,
      status = case when m.change = g.change then g.status else 'waiting' end,
      due_at = case when m.change = g.change then coalesce(g.due_at, m.due_at) else now() end,
      attempts = m.attempts - case when g.entry is null and m.change = g.change then 1 else 0 end,
      log = case when g.entry is null then m.log
        when jsonb_array_length(m.log) >= ${updateLimits.keptEntries} then m.log - 0 || g.entry else m.log || g.entry end
    from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::integer[], $5::text[], $6::text[], $7::timestamptz[],
      $8::jsonb[]) as g (organization_id, occurrence_id, delivery_id, claims, change, status, due_at, entry)
    where m.organization_id = g.organization_id and m.occurrence_id = g.occurrence_id and m.delivery_id = g.delivery_id
      and m.claims = g.claims and m.status = 'waiting'
    returning m.status`,
};

/** Stores the outcomes. Returns whether any of the rows waits again. A row has one claim, so two workers never store the same. */
export async function settleUpdatesAcrossTenants(pool: pg.Pool, outcomes: readonly UpdateOutcome[]): Promise<boolean> {
  const names = ['organization_id', 'occurrence_id', 'delivery_id', 'claims', 'change', 'status', 'due_at'] as const;
  const columns: unknown[] = names.map(name => outcomes.map(one => one[name]));
  const entries = outcomes.map(({ entry }) => entry && JSON.stringify(entry));
  const { rows } = await pool.query<{ status: string }>({ ...settle, values: [...columns, entries] });
  return rows.some(({ status }) => status === 'waiting');
}

/** Gives up all waiting rows, on a cloned database whose original changes the messages. */
export async function discardUpdatesAcrossTenants(pool: pg.Pool): Promise<void> {
  await pool.query(`delete from message_updates where status = 'waiting' and delivery_id = 0`);
  for (;;) {
    const { rowCount } = await pool.query(
      `update message_updates m set status = 'failed', claimed = false
       from (
         select organization_id, occurrence_id, delivery_id from message_updates where status = 'waiting'
         order by organization_id, due_at limit 1000
       ) w
       where m.organization_id = w.organization_id and m.occurrence_id = w.occurrence_id
         and m.delivery_id = w.delivery_id`,
    );
    if (!rowCount) return;
  }
}
