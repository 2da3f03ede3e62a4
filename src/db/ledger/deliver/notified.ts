/**
 * Who was notified by the steps of an occurrence so far, and who has read the message: later steps depend on it. The
 * organization is compared as a sum, so that the planner uses the index `deliveries_of_steps` and not the primary key,
 * and `offset 0` keeps it from reading all recipients to find a few.
 */
import type pg from 'pg';
import { runText } from '../../../core/decision/steps.ts';

/** A round of a notification's steps. */
export interface StepRound {
  occurrenceId: string;
  notificationId: number;
  /** The number of the last run before it. */
  after: number;
}

export interface StepDelivery {
  user_id: number;
  /** The number of the run. */
  step: number;
  channel_id: number;
  status: string;
  sent_at: Date | null;
  /** When the user read the message in the inbox. */
  read_at: Date | null;
}

/** A subquery per row, which uses the index of read messages: with a join, the planner read whole inboxes. */
const readAt = (delivery: string) => `(
      select i.read_at from inbox i
      where i.id = ${delivery}.id and i.organization_id + 0 = ${delivery}.organization_id and i.read_at is not null)`;

const listTo = {
  name: 'list_step_deliveries',
  text: `
    select d.user_id, ${runText('d.step')} as step, d.channel_id, d.status, d.sent_at, ${readAt('d')} as read_at
    from unnest($4::bigint[]) as wanted (user_id), lateral (
      select * from deliveries d
      where d.organization_id + 0 = $1 and d.occurrence_id = $2 and d.user_id = wanted.user_id and d.step > 0
        and d.notification_id = $3 and ${runText('d.step')} > $5
      offset 0
    ) d`,
};

/** Returns the deliveries of a round to these users. */
export async function listStepDeliveries(
  pool: pg.Pool,
  organizationId: number,
  { occurrenceId, notificationId, after }: StepRound,
  userIds: number[],
): Promise<StepDelivery[]> {
  const values = [organizationId, occurrenceId, notificationId, userIds, after];
  const { rows } = await pool.query<StepDelivery>({ ...listTo, values });
  return rows;
}

/** Only this many deliveries are read: a step with thousands of recipients does not wait for one of them to read it. */
const maxScanned = 1_000;

const findAny = {
  name: 'find_step_progress',
  text: `
    select coalesce(bool_or(t.status = 'sent'), false) as sent,
      coalesce(bool_or(${readAt('t')} is not null), false) as read
    from (
      select organization_id, user_id, id, status from deliveries
      where organization_id + 0 = $1 and occurrence_id = $2 and step > 0 and notification_id = $3
        and ${runText('step')} > $4
      limit ${maxScanned}
    ) t`,
};

/** Returns whether the round was sent to anyone, and whether anyone has read it. */
export async function findStepProgress(
  pool: pg.Pool,
  organizationId: number,
  { occurrenceId, notificationId, after }: StepRound,
): Promise<{ sent: boolean; read: boolean }> {
  const values = [organizationId, occurrenceId, notificationId, after];
  const { rows } = await pool.query<{ sent: boolean; read: boolean }>({ ...findAny, values });
  return rows[0]!;
}

interface NotifiedRecipient {
  user_id: number;
  channel_id: number;
  address: string | null;
}

const listReached = {
  name: 'list_reached',
  text: `
    with recipients as (
      select distinct user_id from deliveries
      where organization_id + 0 = $1 and occurrence_id = $2 and step > 0 and notification_id = $3 and status = 'sent'
        and user_id > $4
      order by user_id limit $5
    )
    select distinct d.user_id, d.channel_id, d.address
    from recipients r join deliveries d on d.organization_id + 0 = $1 and d.occurrence_id = $2 and d.user_id = r.user_id
      and d.step > 0
    where d.notification_id = $3 and d.status = 'sent'`,
};

/**
 * Returns the recipients that the notification has reached, with channel and address, ordered by user, after
 * `page.after`.
 */
export async function listNotifiedRecipients(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  notificationId: number,
  page: { after: number; limit: number },
): Promise<NotifiedRecipient[]> {
  const values = [organizationId, occurrenceId, notificationId, page.after, page.limit];
  const { rows } = await pool.query<NotifiedRecipient>({ ...listReached, values });
  return rows;
}
