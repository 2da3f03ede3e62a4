/** Current outages of channels. The start and the end of each outage are reported once, however many workers detect them. */
import type pg from 'pg';
import { channelEventsText } from '../ledger/webhooks/events.ts';

const begin = {
  name: 'begin_outage',
  text: `
    with begun as (
      insert into channel_outages (organization_id, channel_id)
      select $1::bigint, c.id from channels c where c.organization_id = $1 and c.id = $2
      on conflict do nothing returning organization_id, channel_id
    ), ${channelEventsText('begun', 'channel.unhealthy', `'provider', $3::text`)}
    select channel_id from begun`,
};

/** Records an outage and queues `channel.unhealthy`; does nothing if it is on record. */
export async function beginOutage(pool: pg.Pool, organizationId: number, channelId: number, provider: string) {
  await pool.query({ ...begin, values: [organizationId, channelId, provider] });
}

const hold = {
  name: 'hold_channel',
  text: `
    with held as (
      update channels set paused_at = now(), paused_reason = $4, updated_at = now()
      where organization_id = $1 and id = $2 and paused_at is null
      returning organization_id, id as channel_id
    ), begun as (
      insert into channel_outages (organization_id, channel_id) select organization_id, channel_id from held
      on conflict do nothing
    ), ${channelEventsText('held', 'channel.unhealthy', `'provider', $3::text, 'reason', $4::text`)}
    select channel_id from held`,
};

/** Pauses a channel until a person has checked its settings, and queues `channel.unhealthy`; does nothing if it is paused. */
export async function holdChannel(
  pool: pg.Pool,
  organizationId: number,
  channelId: number,
  { provider, reason }: { provider: string; reason: string },
): Promise<void> {
  await pool.query({ ...hold, values: [organizationId, channelId, provider, reason] });
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

/** Ends an outage and queues `channel.recovered`; does nothing if the channel has no outage. */
export async function endOutage(pool: pg.Pool, organizationId: number, channelId: number): Promise<void> {
  await pool.query({ ...end, values: [organizationId, channelId] });
}

const list = { name: 'list_outages', text: 'select organization_id, channel_id from channel_outages' };

/** The list stays short: an outage ends as soon as a message gets through. */
export async function listOutagesAcrossTenants(pool: pg.Pool) {
  const { rows } = await pool.query(list);
  return rows;
}
