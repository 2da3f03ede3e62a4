/**
 * The queue of webhook messages. A message stays `waiting` until it is sent or given up. A claim moves its due time, so that
 * the messages of a dead worker are claimed by another without any recovery.
 *
 * | state     | event                                | next state                      |
 * | --------- | ------------------------------------ | ------------------------------- |
 * | —         | an event is queued                   | `waiting`, due immediately      |
 * | `waiting` | due, claimed                         | the same, claimed, due in 60 s  |
 * | `waiting` | the endpoint accepted it             | `sent`                          |
 * | `waiting` | it did not, and attempts are left    | the same, due after a backoff   |
 * | `waiting` | the last attempt failed              | `failed`                        |
 * | `failed`  | resent by a user                     | `waiting`, due immediately      |
 */
import type pg from 'pg';
import { webhookLimits } from '../../../core/configuration/webhooks.ts';
import type { JsonObject } from '../../../core/json.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { stoppedText } from '../moving-text.ts';

export interface DueWebhook {
  organization_id: number;
  webhook_id: number;
}

// Walks from one endpoint with waiting messages to the next, without reading the messages behind the first.
const dueText = (columns: string) => `
    with recursive waiting as (
      (select organization_id, webhook_id, due_at from webhook_messages where status = 'waiting'
        order by organization_id, webhook_id, due_at limit 1)
      union all
      select following.* from waiting, lateral (
        select organization_id, webhook_id, due_at from webhook_messages
        where status = 'waiting' and (organization_id, webhook_id) > (waiting.organization_id, waiting.webhook_id)
        order by organization_id, webhook_id, due_at limit 1
      ) following
    )
    select ${columns} from waiting n
    join webhooks w on w.organization_id = n.organization_id and w.id = n.webhook_id and w.active
    where n.due_at <= now() and n.organization_id <> all(${stoppedText})`;

const listDue = { name: 'list_due_webhooks', text: dueText('n.organization_id, n.webhook_id') };
/** Returns the endpoints with due messages. */
export async function listDueWebhooksAcrossTenants(pool: pg.Pool): Promise<DueWebhook[]> {
  const { rows } = await pool.query<DueWebhook>(listDue);
  return rows;
}

const hasActive = { name: 'has_active_webhooks', text: 'select exists (select from webhooks where active) as found' };

/** Returns whether there are active webhooks: without any, there is nothing to send. */
export async function hasActiveWebhooksAcrossTenants(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ found: boolean }>(hasActive);
  return rows[0]!.found;
}

const lock = {
  name: 'lock_webhook',
  text: `
    select w.slug, w.url, w.secrets, coalesce(w.previous_until > now(), false) as has_previous, o.slug as organization,
      s.failing_since is not null as is_failing,
      least($3::float8, s.tokens + extract(epoch from now() - s.tokens_at)::float8 * $3::float8) as tokens
    from webhook_states s
    join webhooks w on w.organization_id = s.organization_id and w.id = s.webhook_id and w.active
    join organizations o on o.id = w.organization_id
    where s.organization_id = $1 and s.webhook_id = $2 and s.organization_id <> all(${stoppedText})
    for update of s skip locked`,
};

// Each part has the order of the right index and of no other: planned while there were few rows, it read all messages
// ever sent.
const claim = {
  name: 'claim_webhook_messages',
  text: `
    with room as (
      select $3::integer - count(*)::integer as rows from (
        select from webhook_messages
        where organization_id = $1 and webhook_id = $2 and claimed_at > now() - $5::integer * interval '1 second'
          and due_at > now()
        order by organization_id, webhook_id, claimed_at limit $3::integer
      ) under_way
    ), picked as (
      select organization_id, webhook_id, id from webhook_messages
      where organization_id = $1 and webhook_id = $2 and status = 'waiting' and due_at <= now()
      order by organization_id, webhook_id, due_at limit greatest(0, least((select rows from room), $4::integer))
      for update skip locked
    ), claimed as (
      update webhook_messages m set attempts = m.attempts + 1, claimed_at = now(),
        due_at = now() + $5::integer * interval '1 second'
      from picked p where m.organization_id = p.organization_id and m.webhook_id = p.webhook_id and m.id = p.id
      returning m.organization_id, m.webhook_id, m.id, m.key, m.type, m.data, m.attempts, m.created_at
    ), spent as (
      update webhook_states s set tokens = $6::float8 - (select count(*) from claimed), tokens_at = now()
      where s.organization_id = $1 and s.webhook_id = $2 and exists (select from claimed)
    )
    select * from claimed`,
};

export interface ClaimedMessage {
  organization_id: number;
  webhook_id: number;
  id: number;
  key: string;
  type: string;
  data: JsonObject;
  attempts: number;
  created_at: Date;
}

interface ClaimedMessages {
  slug: string;
  url: string;
  secrets: Buffer;
  /** Whether the previous secret still signs. */
  has_previous: boolean;
  organization: string;
  messages: ClaimedMessage[];
}

/** How long a claim lasts: longer than an attempt takes. */
export const webhookClaimSeconds = 60;

/**
 * Claims messages that the endpoint may receive now, up to `max`. Returns undefined while another worker claims for it,
 * or if it is not active.
 */
export async function claimWebhookMessages(
  pool: pg.Pool,
  organizationId: number,
  webhookId: number,
  max: number,
): Promise<ClaimedMessages | undefined> {
  return inLedgerTransaction(pool, async client => {
    const { perSecond, concurrency, failingConcurrency } = webhookLimits;
    const { rows: found } = await client.query<
      Omit<ClaimedMessages, 'messages'> & { is_failing: boolean; tokens: number }
    >({ ...lock, values: [organizationId, webhookId, perSecond] });
    if (!found[0]) return undefined;
    const { is_failing, tokens, ...endpoint } = found[0];
    const maxInFlight = is_failing ? failingConcurrency : concurrency;
    const rows = Math.min(max, Math.floor(tokens));
    const values = [organizationId, webhookId, maxInFlight, rows, webhookClaimSeconds, tokens];
    const { rows: messages } = await client.query<ClaimedMessage>({ ...claim, values });
    return { ...endpoint, messages };
  });
}

export interface WebhookOutcome {
  organization_id: number;
  webhook_id: number;
  id: number;
  /** The attempt that this is the outcome of: a late outcome has no effect. */
  attempts: number;
  status: 'waiting' | 'sent' | 'failed';
  /** When to retry. */
  due_at: Date | null;
  began_at: Date;
  /** Null when no attempt was made after all: then it does not count, and is not in the log. */
  ms: number | null;
  answer: string;
}

const settle = {
  name: 'settle_webhook_messages',
  text: `
    update webhook_messages m set status = g.status, due_at = coalesce(g.due_at, m.due_at), claimed_at = null,
      sent_at = case when g.status = 'sent' then now() end,
      attempts = case when g.ms is null then m.attempts - 1 else m.attempts end,
      log = case when g.ms is null then m.log else case when jsonb_array_length(m.log) >= ${webhookLimits.keptAttempts} then m.log - 0 else m.log end ||
        jsonb_build_object('at', g.began_at, 'ms', g.ms, 'ok', g.status = 'sent', 'answer', g.answer) end
    from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::smallint[], $5::text[], $6::timestamptz[],
      $7::timestamptz[], $8::integer[], $9::text[]) as g (
      organization_id, webhook_id, id, attempts, status, due_at, began_at, ms, answer)
    where m.organization_id = g.organization_id and m.webhook_id = g.webhook_id and m.id = g.id
      and m.attempts = g.attempts and m.status = 'waiting'`,
};

const noteHealth = {
  name: 'note_webhook_health',
  text: `
    update webhook_states s set
      last_success_at = case when g.ok then now() else s.last_success_at end,
      last_failure_at = case when g.failure is not null then now() else s.last_failure_at end,
      last_failure = coalesce(g.failure, s.last_failure),
      failing_since = case when g.ok then null else coalesce(s.failing_since, now()) end
    from unnest($1::bigint[], $2::bigint[], $3::boolean[], $4::text[]) as g (organization_id, webhook_id, ok, failure)
    where s.organization_id = g.organization_id and s.webhook_id = g.webhook_id
    returning s.organization_id, s.webhook_id,
      coalesce(s.failing_since < now() - interval '${webhookLimits.failingDays} days', false) as is_over`,
};

/** Stores the outcomes. Returns the endpoints that have been failing for too long. */
export async function settleWebhookMessagesAcrossTenants(
  pool: pg.Pool,
  outcomes: WebhookOutcome[],
): Promise<DueWebhook[]> {
  const names = ['organization_id', 'webhook_id', 'id', 'attempts', 'status', 'due_at', 'began_at', 'ms', 'answer'];
  const columns = names.map(name => outcomes.map(one => one[name as keyof WebhookOutcome]));
  // In key order, so that two workers cannot deadlock.
  const attempted = outcomes.filter(({ ms }) => ms !== null);
  const byWebhook = [...Map.groupBy(attempted, one => `${one.organization_id}/${one.webhook_id}`).values()].sort(
    ([a], [b]) => a!.organization_id - b!.organization_id || a!.webhook_id - b!.webhook_id,
  );
  return inLedgerTransaction(pool, async client => {
    await client.query({ ...settle, values: columns });
    const { rows } = await client.query<DueWebhook & { is_over: boolean }>({
      ...noteHealth,
      values: [
        byWebhook.map(([first]) => first!.organization_id),
        byWebhook.map(([first]) => first!.webhook_id),
        byWebhook.map(group => group.some(one => one.status === 'sent')),
        byWebhook.map(group => group.findLast(one => one.status !== 'sent')?.answer ?? null),
      ],
    });
    return rows.filter(row => row.is_over).map(({ organization_id, webhook_id }) => ({ organization_id, webhook_id }));
  });
}

/** Gives up all waiting messages, on a cloned database whose original sends them. */
export async function discardWebhookMessagesAcrossTenants(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `update webhook_messages m set status = 'failed', claimed_at = null
       from (
         select organization_id, webhook_id, id from webhook_messages where status = 'waiting'
         order by organization_id, webhook_id, due_at limit 1000
       ) w where m.organization_id = w.organization_id and m.webhook_id = w.webhook_id and m.id = w.id`,
    );
    if (!rowCount) return;
  }
}

const backlog = {
  name: 'webhook_backlog',
  text: dueText('coalesce(max(extract(epoch from now() - n.due_at)), 0)::float8 as age'),
};

/** Returns the age of the oldest due message in seconds; 0 if none is due. */
export async function findWebhookBacklogAcrossTenants(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ age: number }>(backlog);
  return rows[0]!.age;
}
