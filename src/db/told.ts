/**
 * Whom the steps of an occurrence have told so far, and who has read it: what a later step asks before it tells anybody. The
 * organization is compared as a sum, so that the index `deliveries_of_steps` serves and not the primary key, and `offset 0` keeps
 * the planner from reading everybody to find a few.
 */
import type pg from 'pg';

export interface Told {
  user_id: number;
  /** Of the run. */
  step: number;
  channel_id: number;
  status: string;
  sent_at: Date | null;
  /** In the inbox. */
  read_at: Date | null;
}

/** Asked for each by itself, by the index of what has been read: joined, the planner read everybody's inbox. */
const readAt = (delivery: string) => `(
      select i.read_at from inbox i
      where i.id = ${delivery}.id and i.organization_id + 0 = ${delivery}.organization_id and i.read_at is not null)`;

const listTo = {
  name: 'list_told',
  text: `
    select d.user_id, d.step, d.channel_id, d.status, d.sent_at, ${readAt('d')} as read_at
    from unnest($4::bigint[]) as wanted (user_id), lateral (
      select * from deliveries d
      where d.organization_id + 0 = $1 and d.occurrence_id = $2 and d.user_id = wanted.user_id and d.step > 0
        and d.notification_id = $3
      offset 0
    ) d`,
};

/** Of one notification, to these people. */
export async function listTold(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  notificationId: number,
  userIds: number[],
): Promise<Told[]> {
  const values = [organizationId, occurrenceId, notificationId, userIds];
  const { rows } = await pool.query<Told>({ ...listTo, values });
  return rows;
}

/** So many are looked at: whoever tells thousands does not wait for one of them to have read it. */
const mostLookedAt = 1_000;

const findAny = {
  name: 'find_any_told',
  text: `
    select coalesce(bool_or(t.status = 'sent'), false) as sent,
      coalesce(bool_or(${readAt('t')} is not null), false) as read
    from (
      select organization_id, user_id, id, status from deliveries
      where organization_id + 0 = $1 and occurrence_id = $2 and step > 0 and notification_id = $3
      limit ${mostLookedAt}
    ) t`,
};

/** Whether it was sent to anybody, and whether anybody has read it. */
export async function findAnyTold(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  notificationId: number,
): Promise<{ sent: boolean; read: boolean }> {
  const values = [organizationId, occurrenceId, notificationId];
  const { rows } = await pool.query<{ sent: boolean; read: boolean }>({ ...findAny, values });
  return rows[0]!;
}

export interface ToldBy {
  user_id: number;
  channel_id: number;
  address: string | null;
}

const listReached = {
  name: 'list_reached',
  text: `
    with people as (
      select distinct user_id from deliveries
      where organization_id + 0 = $1 and occurrence_id = $2 and step > 0 and notification_id = $3 and status = 'sent'
        and user_id > $4
      order by user_id limit $5
    )
    select distinct d.user_id, d.channel_id, d.address
    from people p join deliveries d on d.organization_id + 0 = $1 and d.occurrence_id = $2 and d.user_id = p.user_id
      and d.step > 0
    where d.notification_id = $3 and d.status = 'sent'`,
};

/** Those whom a message of the notification has reached, and where; in the order of the users, after the one given. */
export async function listSentTo(
  pool: pg.Pool,
  organizationId: number,
  occurrenceId: string,
  notificationId: number,
  page: { after: number; limit: number },
): Promise<ToldBy[]> {
  const values = [organizationId, occurrenceId, notificationId, page.after, page.limit];
  const { rows } = await pool.query<ToldBy>({ ...listReached, values });
  return rows;
}
