/** Stores planned deliveries of occurrences and steps, many rows per statement. */
import type pg from 'pg';
import { rowParameters } from '../columns.ts';
import { addressInOnce, type Delivery, type NewDelivery, occurrenceInOnce } from '../deliver/deliveries.ts';

/** The deliveries of one occurrence. */
interface DeliveryPage {
  organization_id: number;
  id: string;
  deliveries: NewDelivery[];
}

interface NewRow {
  page: DeliveryPage;
  delivery: NewDelivery;
}

const newRows = rowParameters<NewRow>({
  organization_id: ['bigint', ({ page }) => page.organization_id],
  occurrence_id: ['uuid', ({ page }) => page.id],
  priority: ['smallint', ({ delivery }) => delivery.priority],
  notification_id: ['bigint', ({ delivery }) => delivery.notification_id],
  version: ['integer', ({ delivery }) => delivery.version],
  channel_id: ['bigint', ({ delivery }) => delivery.channel_id],
  user_id: ['bigint', ({ delivery }) => delivery.user_id],
  address: ['text', ({ delivery }) => delivery.address],
  status: ['word', ({ delivery }) => delivery.status],
  reason: ['word', ({ delivery }) => delivery.reason],
  user_version: ['integer', ({ delivery }) => delivery.user_version],
  detail: ['text', ({ delivery }) => delivery.detail],
  due_at: ['timestamptz', ({ delivery }) => delivery.due_at],
  step: ['smallint', ({ delivery }) => delivery.step ?? null],
  digest_id: ['uuid', ({ delivery }) => delivery.digest_id],
  variant: ['word', ({ delivery }) => delivery.variant ?? null],
});

/** What a statement that stores deliveries is made of. */
interface StoreParts {
  /** The parameter with the owner of deliveries that are claimed by storing them. */
  owner: string;
  /** The number of the first parameter of `newDeliveryValues`. */
  first: number;
  /** What follows `select … from numbered g`. */
  condition?: string;
  deliveries?: string;
}

/**
 * SQL text of two parts of a `with` clause: `numbered` gives each new delivery its id, `stored` inserts them. Ids are read
 * from `numbered` by position: PostgreSQL does not promise the order in which `returning` yields rows.
 */
export const storeDeliveriesText = ({ owner, first, condition = '', deliveries = 'deliveries' }: StoreParts) => `
  numbered as materialized (
    select nextval('delivery_ids') as id, g.*
    from ${newRows.unnest(first)} with ordinality as g (${newRows.names}, position)
  ), stored as (
    insert into ${deliveries} as d (id, organization_id, occurrence_id, priority, notification_id, version, channel_id,
      user_id, address, status, reason, user_version, detail, digest_id, attempts, provider_attempts, owner, due_at, released_at,
      step, variant)
    select g.id, g.organization_id, g.occurrence_id, g.priority, g.notification_id, g.version, g.channel_id, g.user_id,
      g.address, g.status, g.reason, g.user_version, g.detail, g.digest_id,
      (g.status = 'sending')::int, (g.status = 'sending')::int, case when g.status = 'sending' then ${owner}::bigint end,
      coalesce(g.due_at, now()), g.due_at, coalesce(g.step, 0), g.variant
    from numbered g ${condition}
    returning d.id
  )`;

/** SQL text: the ids by position, and when the rows were created. */
export const storedIdsText = 'now() as stored_at, array(select id from numbered order by position) as ids';

/** The number of parameters with the rows of `storeDeliveriesText`. */
export const newDeliveryCount = newRows.count;

/** Returns those parameters. */
export function newDeliveryValues(pages: readonly DeliveryPage[]): unknown[] {
  return newRows.values(pages.flatMap(page => page.deliveries.map(delivery => ({ page, delivery }))));
}

/** A planned delivery that was stored, with its id. */
export interface StoredRow<Planned> {
  id: number;
  planned: Planned;
}

/**
 * Pairs the deliveries of each page with their ids by position. With `stored`, those that are not among it are left out:
 * an earlier page has stored them already.
 */
export function pairWithIds<Planned extends NewDelivery>(
  pages: readonly { deliveries: Planned[] }[],
  ids: readonly string[],
  stored?: readonly string[],
): StoredRow<Planned>[][] {
  const inserted = stored && new Set(stored);
  let position = 0;
  return pages.map(({ deliveries }) =>
    deliveries.flatMap(planned => {
      const id = ids[position++]!;
      return !inserted || inserted.has(id) ? [{ id: Number(id), planned }] : [];
    }),
  );
}

/** Returns the deliveries among these rows that the worker claimed by storing them. */
export function claimedDeliveries<Planned extends NewDelivery>(
  page: Omit<DeliveryPage, 'deliveries'>,
  rows: readonly StoredRow<Planned>[],
  stored: { owner: number; at: Date },
): { delivery: Delivery; planned: Planned }[] {
  return rows
    .filter(({ planned }) => planned.status === 'sending')
    .map(({ id, planned }) => ({ delivery: toDelivery(page, planned, id, stored), planned }));
}

function toDelivery(
  page: Omit<DeliveryPage, 'deliveries'>,
  planned: NewDelivery,
  id: number,
  { owner, at: created_at }: { owner: number; at: Date },
): Delivery {
  return {
    organization_id: page.organization_id,
    occurrence_id: page.id,
    id,
    notification_id: planned.notification_id,
    version: planned.version,
    channel_id: planned.channel_id,
    user_id: planned.user_id,
    address: planned.address,
    attempts: 1,
    provider_index: 0,
    provider_attempts: 1,
    priority: planned.priority,
    user_version: planned.user_version,
    digest_id: null,
    step: planned.step ?? 0,
    variant: planned.variant ?? null,
    created_at,
    owner,
    released_at: null,
    retry_since: null,
    is_dropped: false,
    has_waited: false,
    may_have_arrived: false,
  };
}

const findStored = {
  name: 'find_stored',
  text: `
    select g.nth::int from unnest($3::bigint[], $4::bigint[], $5::text[], $6::smallint[]) with ordinality
      as g (notification_id, channel_id, target, step, nth)
    join deliveries d on d.organization_id = $1 and ${occurrenceInOnce} = $2
      and d.occurrence_id = $2 and d.notification_id = g.notification_id and d.channel_id = g.channel_id
      and ${addressInOnce} = g.target and d.step = g.step`,
};

/** Returns the positions of deliveries that an earlier page has already stored: they are in a digest, or were sent. */
export async function listStored(
  client: pg.PoolClient,
  organizationId: number,
  occurrenceId: string,
  deliveries: NewDelivery[],
): Promise<Set<number>> {
  const values = [
    organizationId,
    occurrenceId,
    deliveries.map(one => one.notification_id),
    deliveries.map(one => one.channel_id),
    deliveries.map(one => one.address ?? `#${one.user_id}`),
    deliveries.map(one => one.step ?? 0),
  ];
  const { rows } = await client.query<{ nth: number }>({ ...findStored, values });
  return new Set(rows.map(({ nth }) => nth - 1));
}
