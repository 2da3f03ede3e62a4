/** Channels that are known to be unhealthy. Each outage, and its end, is told once, whichever workers find it out. */
import type pg from 'pg';
import { channelEventsText } from './webhook-events.ts';

const begin = {
  name: 'begin_outage',
  text: `
    with begun as (
      insert into channel_outages (organization_id, channel_id)
      select $1::bigint, c.id from channels c
      where c.organization_id = $1 and c.id = $2 and exists (
        select from webhooks w where w.organization_id = $1 and w.active
          and w.types && '{channel.unhealthy,channel.recovered}'::text[])
      on conflict do nothing returning organization_id, channel_id
    ), ${channelEventsText('begun', 'channel.unhealthy', `'provider', $3::text`)}
    select channel_id from begun`,
};

/** Only where a webhook wants to be told. */
export async function beginOutage(
  pool: pg.Pool,
  organizationId: number,
  channelId: number,
  provider: string,
): Promise<void> {
  await pool.query({ ...begin, values: [organizationId, channelId, provider] });
}

const end = {
  name: 'end_outage',
  text: `
    with ended as (
      delete from channel_outages where organization_id = $1 and channel_id = $2
      returning organization_id, channel_id, since
    ), ${channelEventsText('ended', 'channel.recovered', `'since', c.since`)}
    select channel_id from ended`,
};

export async function endOutage(pool: pg.Pool, organizationId: number, channelId: number): Promise<void> {
  await pool.query({ ...end, values: [organizationId, channelId] });
}

const list = { name: 'list_outages', text: 'select organization_id, channel_id from channel_outages' };

/** Few at any time: an outage is over when a message gets through. */
export async function listOutagesAcrossTenants(
  pool: pg.Pool,
): Promise<{ organization_id: number; channel_id: number }[]> {
  const { rows } = await pool.query(list);
  return rows;
}
