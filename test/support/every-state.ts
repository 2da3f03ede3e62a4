/** Creates deliveries and occurrences in every state that lasts, through the API and the real engine. */
import { expect } from 'vitest';
import type { DeliveryState, OccurrenceState } from '../../src/core/history/states.ts';
import type { Ask } from './api.ts';
import { eventually } from './eventually.ts';
import { type HttpPeer, openHttpPeer, type Reply } from './http-peer.ts';
import { openSmtpPeer, type SmtpPeer } from './smtp.ts';

interface Input {
  /** Slugs; default: the one that works. */
  channels?: string[];
  notification?: Record<string, unknown>;
  options?: Record<string, unknown>;
  /** Default: a user without any restrictions. */
  user?: string;
  /** More recipients. */
  others?: string[];
  pausesEvent?: true;
  /** A request below the occurrence, once it and its delivery have the states `first`. */
  after?: { first: [OccurrenceState, DeliveryState]; path: string; body?: object };
  /** What its service reports about the message, once it was sent. */
  reports?: 'Bounce' | 'SpamComplaint';
  triggers?: number;
  occurrence: OccurrenceState;
  /** State and reason of its first delivery; absent if it has none. */
  delivery?: [state: DeliveryState, reason: string | null];
}

const steps = [{ channels: ['good'] }, { after: '1h', unless: 'acknowledged', channels: ['good'] }];
const shortSteps = [{ channels: ['good'] }, { after: '1s', unless: 'acknowledged', channels: ['good'] }];

export const stateCases: Record<string, Input> = {
  sent: { occurrence: 'sent', delivery: ['sent', null] },
  failed: { channels: ['bad'], occurrence: 'failed', delivery: ['failed', 'provider.failed'] },
  bounced: {
    channels: ['posted'],
    user: 'gone@demo.test',
    reports: 'Bounce',
    occurrence: 'failed',
    delivery: ['bounced', 'bounced'],
  },
  complained: {
    channels: ['posted'],
    user: 'annoyed@demo.test',
    reports: 'SpamComplaint',
    occurrence: 'sent',
    delivery: ['complained', null],
  },
  'sent-and-suppressed': { others: ['locked@demo.test', 'off@demo.test'], occurrence: 'sent' },
  'sent-and-unknown': { channels: ['good', 'lost'], occurrence: 'unknown' },
  'partly-failed': { channels: ['bad', 'good'], occurrence: 'partly_failed' },
  unknown: { channels: ['lost'], occurrence: 'unknown', delivery: ['unknown', 'unknown'] },
  retrying: { channels: ['busy'], occurrence: 'retrying', delivery: ['retrying', 'provider.failed'] },
  digest: {
    notification: { digest: { every: '1h' } },
    occurrence: 'waiting_digest',
    delivery: ['waiting_digest', 'digest'],
  },
  'quiet-hours': {
    user: 'quiet@demo.test',
    occurrence: 'waiting_quiet_hours',
    delivery: ['waiting_quiet_hours', 'quiet_hours'],
  },
  'day-limit': {
    channels: ['limited'],
    triggers: 2,
    occurrence: 'waiting',
    delivery: ['waiting', 'provider.day_limit'],
  },
  'paused-channel': { channels: ['paused'], occurrence: 'held', delivery: ['held', 'channel.paused'] },
  'paused-event': { pausesEvent: true, occurrence: 'held' },
  scheduled: { options: { delay: '1h' }, occurrence: 'scheduled' },
  'no-recipients': { user: '', occurrence: 'no_recipients' },
  locked: { user: 'locked@demo.test', occurrence: 'suppressed', delivery: ['suppressed', 'user.locked'] },
  'opted-out': { user: 'off@demo.test', occurrence: 'suppressed', delivery: ['suppressed', 'preference.off'] },
  'no-address': { channels: ['texts'], occurrence: 'suppressed', delivery: ['suppressed', 'address.missing'] },
  'on-suppression-list': {
    channels: ['mail'],
    user: 'blocked@demo.test',
    occurrence: 'suppressed',
    delivery: ['suppressed', 'address.suppressed'],
  },
  'disabled-channel': {
    channels: ['disabled'],
    occurrence: 'suppressed',
    delivery: ['suppressed', 'channel.disabled'],
  },
  throttled: {
    notification: { throttle: { max: 1, per: '1h' } },
    triggers: 2,
    occurrence: 'suppressed',
    delivery: ['suppressed', 'throttled'],
  },
  'no-match': { notification: { filter: 'amount > `0`' }, occurrence: 'suppressed' },
  'limited-to-others': { options: { limit_to: ['other@demo.test'] }, occurrence: 'suppressed' },
  'dry-run': { options: { dry_run: true }, occurrence: 'dry_run', delivery: ['dry_run', 'dry_run'] },
  cancelled: {
    notification: { digest: { every: '1h' } },
    after: { first: ['waiting_digest', 'waiting_digest'], path: 'cancel/' },
    occurrence: 'cancelled',
    delivery: ['cancelled', 'cancelled'],
  },
  'cancelled-escalation': {
    notification: { steps },
    after: { first: ['escalating', 'sent'], path: 'cancel/' },
    occurrence: 'cancelled',
    delivery: ['sent', null],
  },
  retracted: {
    notification: { steps: steps.map(step => ({ ...step, channels: ['bell'] })) },
    after: { first: ['escalating', 'sent'], path: 'cancel/' },
    occurrence: 'cancelled',
    delivery: ['retracted', null],
  },
  expired: { channels: ['slow'], options: { expires_in: 2 }, occurrence: 'expired', delivery: ['expired', 'expired'] },
  escalating: { notification: { steps }, occurrence: 'escalating', delivery: ['sent', null] },
  acknowledged: {
    notification: { steps },
    after: { first: ['escalating', 'sent'], path: 'acknowledge/' },
    occurrence: 'acknowledged',
    delivery: ['sent', null],
  },
  snoozed: {
    notification: { steps },
    after: { first: ['escalating', 'sent'], path: 'snooze/', body: { for: '1h' } },
    occurrence: 'snoozed',
    delivery: ['sent', null],
  },
  resolved: {
    notification: { steps },
    after: { first: ['escalating', 'sent'], path: 'resolve/' },
    occurrence: 'resolved',
    delivery: ['sent', null],
  },
  unacknowledged: { notification: { steps: shortSteps }, occurrence: 'unacknowledged' },
};

export interface CreatedState {
  name: string;
  id: string;
  user: string;
  expected: Input;
}

/** Replies of the provider behind a channel, by path. */
const replies: Record<string, Reply> = {
  '/bad': { status: 400 },
  '/email': { body: '{"MessageID":"m-1"}' },
  '/busy': { status: 503, headers: { 'retry-after': '3600' } },
  '/slow': { status: 503 },
};

interface Peers {
  http: HttpPeer;
  smtp: SmtpPeer;
  close(): Promise<void>;
}

async function openPeers(): Promise<Peers> {
  const http = await openHttpPeer(({ path }) => replies[path] ?? { status: 200 });
  const smtp = await openSmtpPeer({ starttls: false });
  smtp.fault = 'drop after data';
  return {
    http,
    smtp,
    close: async () => {
      await http.close();
      await smtp.close();
    },
  };
}

const org = '/api/o/demo';
const application = `${org}/p/shop/a/web/e/`;
const plainUser = 'ann@demo.test';

/** Creates all of `stateCases` in the demo organization, and waits until the occurrences and their deliveries have their states. */
export async function createEveryState(ask: Ask): Promise<{ created: CreatedState[]; close(): Promise<void> }> {
  const peers = await openPeers();
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await ask({ method, path, body });
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBeLessThan(300);
    return answer.body;
  };
  await createChannels(send, peers);
  await createUsers(send);
  const created: CreatedState[] = [];
  for (const [name, input] of Object.entries(stateCases)) {
    const event = `${application}${name}/`;
    await send('POST', application, { slug: name, name });
    await send('POST', `${event}n/`, {
      name: 'note',
      recipients: { trigger: true },
      ...(!input.notification?.steps && { channels: input.channels ?? ['good'] }),
      message: { subject: 'Look', body: 'Look' },
      ...input.notification,
    });
    if (input.pausesEvent) await send('POST', `${event}pause/`);
    const user = input.user ?? plainUser;
    const { expires_in, ...options } = input.options ?? {};
    if (expires_in) options.expires_at = new Date(Date.now() + Number(expires_in) * 1000).toISOString();
    if (user) options.recipients = [user, ...(input.others ?? [])];
    let id = '';
    for (let n = 0; n < (input.triggers ?? 1); n++) {
      if (id) await untilStates(ask, id, 'sent', 'sent');
      id = (await send('POST', `${event}trigger/`, { context: {}, options })).occurrence;
    }
    created.push({ name, id, user, expected: input });
  }
  for (const { id, expected } of created) {
    if (expected.reports) await report(ask, id, expected.reports);
    if (!expected.after) continue;
    await untilStates(ask, id, ...expected.after.first);
    await send('POST', `${org}/occurrence/${id}/${expected.after.path}`, expected.after.body);
  }
  for (const { id, expected } of created) await untilStates(ask, id, expected.occurrence, expected.delivery?.[0]);
  return { created, close: peers.close };
}

async function untilStates(ask: Ask, id: string, state: OccurrenceState, delivery?: DeliveryState): Promise<void> {
  await eventually(async () => {
    const { body } = await ask({ path: `${org}/occurrence/${id}/` });
    expect({ event: body.event, state: body.state, counts: body.counts }).toMatchObject({ state });
    if (!delivery) return;
    const { body: deliveries } = await ask({ path: `${org}/occurrence/${id}/deliveries/` });
    expect(deliveries).toMatchObject([{ state: delivery }]);
  }, 20_000);
}

/** Reports what the service of the channel would, at the channel's address for feedback. */
async function report(ask: Ask, id: string, RecordType: string): Promise<void> {
  await untilStates(ask, id, 'sent', 'sent');
  const { body: deliveries } = await ask({ path: `${org}/occurrence/${id}/deliveries/` });
  const { body: channel } = await ask({ path: `${org}/c/posted/` });
  const response = await fetch(channel.feedback.addresses[0].url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      RecordType,
      ...(RecordType === 'Bounce' && { Type: 'HardBounce' }),
      MessageID: 'm-1',
      Metadata: { belfry_id: `${id}.${deliveries[0].id}` },
      Details: '550 5.1.1 no such user',
    }),
  });
  expect(response.status).toBe(200);
}

type Send = (method: string, path: string, body?: unknown) => Promise<{ occurrence: string }>;

async function createChannels(send: Send, { http, smtp }: Peers): Promise<void> {
  const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
  for (const slug of ['good', 'bad', 'busy', 'slow', 'paused', 'disabled']) {
    const providers = [{ use: 'standard-webhooks', url: `${http.url}/${slug}`, secret }];
    await send('POST', `${org}/c/`, { slug, name: slug, type: 'webhook', providers, enabled: slug !== 'disabled' });
  }
  const lost = [{ use: 'smtp', host: '127.0.0.1', port: smtp.port, from: 'shop@demo.test' }];
  await send('POST', `${org}/c/`, { slug: 'lost', name: 'Lost', type: 'email', on_unknown: 'hold', providers: lost });
  const posted = [{ use: 'postmark', server_token: 't', from: 'shop@demo.test', endpoint: http.url }];
  await send('POST', `${org}/c/`, { slug: 'posted', name: 'Posted', type: 'email', providers: posted });
  const limited = [{ use: 'standard-webhooks', url: `${http.url}/limited`, secret, per_day: 1 }];
  await send('POST', `${org}/c/`, { slug: 'limited', name: 'Limited', type: 'webhook', providers: limited });
  await send('POST', `${org}/c/`, { slug: 'bell', name: 'Bell', type: 'inbox', providers: [{ use: 'inbox' }] });
  await send('POST', `${org}/webhooks/`, {
    slug: 'ends',
    name: 'Ends',
    url: `${http.url}/ends`,
    types: ['occurrence.completed'],
  });
  await send('POST', `${org}/c/paused/pause/`);
  await send('POST', `${org}/c/`, { slug: 'texts', name: 'Texts', type: 'sms', providers: [twilio] });
}

/** Never called, because no user has a phone number. */
const twilio = { use: 'twilio', account_sid: `AC${'0'.repeat(32)}`, auth_token: 'none', from: '+15555550100' };

async function createUsers(send: Send): Promise<void> {
  for (const name of ['ann', 'quiet', 'locked', 'off', 'blocked', 'other', 'gone', 'annoyed']) {
    await send('POST', `${org}/u/`, { email: `${name}@demo.test` });
  }
  const hour = (offset: number) => new Date(Date.now() + offset * 3_600_000).toISOString().slice(11, 16);
  const quiet_hours = { from: hour(-1), to: hour(2) };
  await send('PATCH', `${org}/u/quiet@demo.test/preferences/`, { timezone: 'UTC', quiet_hours });
  await send('PATCH', `${org}/u/locked@demo.test/`, { locked: true });
  await send('PATCH', `${org}/u/off@demo.test/preferences/`, { preferences: [{ enabled: false }] });
  await send('POST', `${org}/suppressions/`, {
    channel_type: 'email',
    target: 'blocked@demo.test',
    reason: 'complained',
  });
}
