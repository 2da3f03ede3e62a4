/** Storing deliveries that were decided: many rows in one statement, whoever expands them. */
import type pg from 'pg';
import { plainArray } from './arrays.ts';
import { addressInOnce, type Delivery, type NewDelivery, occurrenceInOnce } from './deliveries.ts';

/** Of one occurrence. */
interface DeliveryPage {
  organization_id: number;
  id: string;
  deliveries: NewDelivery[];
}

/** Its parameters are those of `deliveryArrays`. */
// Values come as an array for each column: half the time of rows of JSON.
export const insertDeliveriesText = `
  insert into deliveries as d (organization_id, occurrence_id, priority, notification_id, version, channel_id, user_id,
    address, status, reason, user_version, detail, digest_id, attempts, provider_attempts, owner, due_at, step)
  select g.organization_id, g.occurrence_id, g.priority, g.notification_id, g.version, g.channel_id, g.user_id,
    g.address, g.status, g.reason, g.user_version, g.detail, g.digest_id,
    (g.status = 'sending')::int, (g.status = 'sending')::int, case when g.status = 'sending' then $1::bigint end,
    coalesce(g.due_at, now()), coalesce(g.step, 0)
  from unnest($2::bigint[], $3::uuid[], $4::smallint[], $5::bigint[], $6::integer[], $7::bigint[], $8::bigint[],
    $9::text[], $10::text[], $11::text[], $12::integer[], $13::text[], $14::timestamptz[], $15::smallint[], $16::uuid[])
    as g (organization_id, occurrence_id, priority, notification_id, version, channel_id, user_id, address, status, reason,
    user_version, detail, due_at, step, digest_id)`;

/** The parameters of `insertDeliveriesText`, before any others. */
export function deliveryArrays(owner: number, pages: DeliveryPage[]): unknown[] {
  const rows = pages.flatMap(page => page.deliveries.map(delivery => ({ page, delivery })));
  const plain = (value: (delivery: NewDelivery) => string | number | null) =>
    plainArray(rows.map(({ delivery }) => value(delivery)));
  return [
    owner,
    plainArray(rows.map(({ page }) => page.organization_id)),
    plainArray(rows.map(({ page }) => page.id)),
    plain(one => one.priority),
    plain(one => one.notification_id),
    plain(one => one.version),
    plain(one => one.channel_id),
    plain(one => one.user_id),
    rows.map(({ delivery }) => delivery.address),
    plain(one => one.status),
    plain(one => one.reason),
    plain(one => one.user_version),
    // Most have none: an array that is absent is filled up with nulls.
    rows.some(({ delivery }) => delivery.detail !== null) ? rows.map(({ delivery }) => delivery.detail) : null,
    rows.some(({ delivery }) => delivery.due_at !== null) ? rows.map(({ delivery }) => delivery.due_at) : null,
    rows.some(({ delivery }) => delivery.step) ? plain(one => one.step ?? 0) : null,
    rows.some(({ delivery }) => delivery.digest_id !== null) ? rows.map(({ delivery }) => delivery.digest_id) : null,
  ];
}

/** As it was stored, claimed by the worker that stored it. */
export function toDelivery(
  page: Omit<DeliveryPage, 'deliveries'>,
  given: NewDelivery,
  id: number,
  created_at: Date,
): Delivery {
  return {
    organization_id: page.organization_id,
    occurrence_id: page.id,
    id,
    notification_id: given.notification_id,
    version: given.version,
    channel_id: given.channel_id,
    user_id: given.user_id,
    address: given.address,
    attempts: 1,
    provider_index: 0,
    provider_attempts: 1,
    priority: given.priority,
    user_version: given.user_version,
    digest_id: null,
    step: given.step ?? 0,
    created_at,
  };
}

const findStored = {
  name: 'find_stored',
  text: `
    select g.nth::int from unnest($3::bigint[], $4::bigint[], $5::text[]) with ordinality
      as g (notification_id, channel_id, place, nth)
    join deliveries d on d.organization_id = $1 and ${occurrenceInOnce} = $2
      and d.occurrence_id = $2 and d.notification_id = g.notification_id and d.channel_id = g.channel_id
      and ${addressInOnce} = g.place`,
};

/** Which of a page an earlier one has stored already: they are in a digest, or were sent. */
export async function markStored(
  client: pg.PoolClient,
  organizationId: number,
  occurrenceId: string,
  deliveries: (NewDelivery & { isStored?: boolean })[],
): Promise<void> {
  const values = [
    organizationId,
    occurrenceId,
    deliveries.map(one => one.notification_id),
    deliveries.map(one => one.channel_id),
    deliveries.map(one => one.address ?? `#${one.user_id}`),
  ];
  const { rows } = await client.query<{ nth: number }>({ ...findStored, values });
  for (const { nth } of rows) deliveries[nth - 1]!.isStored = true;
}
