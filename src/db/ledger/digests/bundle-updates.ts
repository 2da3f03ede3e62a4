/**
 * Updates of messages about several alerts. Such a message is changed when all of its alerts are over, and says “Open again” when one
 * of them no longer is. Each change of an alert puts the bundle's own row into the queue, with delivery 0: however many alerts are
 * acknowledged at once, the bundle is looked at about once a second.
 */
import type pg from 'pg';
import { digestLimits } from '../../../core/decision/digest.ts';
import type { OccurrenceChange } from '../../../core/message/message-updates.ts';
import { inLedgerTransaction } from '../../connection/transaction.ts';
import { carriedDueAt, hasAcknowledgedText } from './digest-items.ts';

const lockBundle = {
  name: 'lock_bundle_update',
  text: `
    select changed_at from message_updates
    where organization_id = $1 and occurrence_id = $2 and delivery_id = 0 for update skip locked`,
};

interface BundleState {
  is_open: boolean;
  change: OccurrenceChange;
  /** Null: several. */
  by: string | null;
  at: Date | null;
}

const readState = {
  name: 'read_bundle_state',
  text: `
    select coalesce(bool_or(ended_at is null), true) as is_open,
      case when bool_and(cancelled_at is not null) then 'cancelled'
        when bool_and(coalesce(resolved_at, cancelled_at) is not null) then 'resolved' else 'acknowledged' end as change,
      case when min(ended_by) = max(ended_by) and count(ended_by) = count(*) then min(ended_by) end as by, max(ended_at) as at
    from (
      select o.cancelled_at, o.resolved_at, coalesce(o.cancelled_at, o.resolved_at, o.acknowledged_at, case when ${hasAcknowledgedText} then now() end) as ended_at,
        case when o.cancelled_at is not null then o.cancelled_by when o.resolved_at is not null then o.resolved_by
          else o.acknowledged_by end as ended_by
      from (
        select distinct occurrence_id, user_id from deliveries
        where organization_id = $1 and digest_id = $2 and step >= 0 limit ${2 * digestLimits.fullAt}
      ) d join occurrences o on o.organization_id = $1 and o.id = d.occurrence_id
    ) alert`,
};

const queueCarrier = {
  name: 'queue_bundle_update',
  text: `
    insert into message_updates as m (organization_id, occurrence_id, delivery_id, change, changed_by, changed_at)
    select d.organization_id, d.occurrence_id, d.id, $5, $6, $7 from (
      select organization_id, occurrence_id, id from deliveries
      where organization_id = $1 and digest_id = $2 and due_at <> $3 and status = 'sent' and provider = any($4::text[]) limit 1
    ) d
    where $5 <> 'reopened' or exists (
      select from message_updates e
      where e.organization_id = d.organization_id and e.occurrence_id = d.occurrence_id and e.delivery_id = d.id)
    on conflict (organization_id, occurrence_id, delivery_id) do update set change = excluded.change,
      changed_by = excluded.changed_by, changed_at = excluded.changed_at, until = null, status = 'waiting', attempts = 0,
      due_at = case when m.claimed then m.due_at else now() end
    where m.change <> excluded.change or excluded.change = 'acknowledged' and m.changed_at < excluded.changed_at`,
};

/** Queues the change of a bundle's message, if there is any. */
export async function queueBundleUpdate(
  pool: pg.Pool,
  organizationId: number,
  bundleId: string,
  updatable: readonly string[],
): Promise<void> {
  const key = [organizationId, bundleId];
  await inLedgerTransaction(pool, async client => {
    const { rows: locked } = await client.query<{ changed_at: Date }>({ ...lockBundle, values: key });
    if (!locked[0]) return;
    const { rows } = await client.query<BundleState>({ ...readState, values: key });
    const { is_open, change, by, at } = rows[0]!;
    const now = is_open ? ['reopened', null, locked[0].changed_at] : [change, by, at];
    await client.query({ ...queueCarrier, values: [...key, carriedDueAt, updatable, ...now] });
    await client.query(
      'delete from message_updates where organization_id = $1 and occurrence_id = $2 and delivery_id = 0',
      key,
    );
  });
}
