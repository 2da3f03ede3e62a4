/**
 * Trying out a channel or a notification: one message really goes out now, by the channel's provider, and its answer is
 * told. Nothing is kept of it but who tried.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Reach, selectChannels } from '../core/decide.ts';
import { AppError, invalid } from '../core/errors.ts';
import { uuidv7 } from '../core/ids.ts';
import type { Json, JsonObject } from '../core/json.ts';
import { type Content, compileMessage } from '../core/render/render.ts';
import { readAddress } from '../core/text.ts';
import type { Place } from '../db/organizations.ts';
import type { Outcome, Outgoing } from '../providers/sending.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { writeMessage } from './messages.ts';
import type { PlannedChannel, PlannedProvider } from './plans.ts';
import { findReader } from './preview.ts';
import { sampleOccurrence } from './simulation.ts';

export interface Trial {
  ok: boolean;
  /** Its name; null where it did not come to that. */
  provider: string | null;
  /** A stable code; null when it was sent. */
  reason: string | null;
  /** The status and the first of the provider's own words. */
  detail: string | null;
  message_id: string | null;
  ms: number;
}

/** A provider's own patience may be longer than that of whoever waits for the answer. */
const longestMs = 60_000;
const longestDetail = 200;

const usual = {
  subject: 'A test from Belfry',
  body: 'This is a test of the channel **{{ channel.slug }}**. If you can read it, the channel works.',
};

export interface ChannelTrial {
  to?: string;
  /** Templates, as in a message. */
  subject?: string;
  body?: string;
  /** Which of the channel's providers; the first one is 0. */
  provider?: number;
}

export async function tryChannel(
  deps: Deps,
  organization: { id: number; slug: string },
  { id, path }: { id: number; path: string },
  { to, subject = usual.subject, body = usual.body, provider: index = 0 }: ChannelTrial,
): Promise<Trial> {
  const channels = await deps.plans.listChannels(organization.id);
  const channel = channels.find(one => one.id === id);
  if (!channel) throw new AppError('channel.not_found', 'the channel has been deleted meanwhile');
  const check = await deps.rendering.checkerOf(organization.id, [subject, body]);
  const message = compileMessage({ subject, body }, check);
  const trial = await attempt(deps, channel, index, to, async address => {
    const scope = { channel: { slug: channel.slug, type: channel.type }, address, now: new Date().toISOString() };
    const sources = () => ({ content: { subject, body }, layout: undefined });
    const options = { medium: channel.type, channel: channel.slug, scope };
    const content = await deps.rendering.render(organization.id, message, sources, options);
    return { content, tags: { organization: organization.slug, event: 'test', notification: 'test' } };
  });
  await note(deps, organization.id, 'channel', path, { to: to ?? null, ok: trial.ok, detail: trial.detail });
  return trial;
}

export interface NotificationTrial {
  to?: string;
  /** Slug, or type of the first such one. */
  channel: string;
  context?: JsonObject;
  /** Username of the one that the words are about. */
  user?: string;
}

export async function tryNotification(
  deps: Deps,
  { organization, project, application, event }: Required<Place>,
  { id, name }: { id: number; name: string },
  { to, channel: named, context = {}, user }: NotificationTrial,
  mayReadUsers: boolean,
): Promise<Trial> {
  const { plans } = deps;
  const plan = await plans.findEvent(organization.id, event.id);
  const notification = plan?.notifications.find(one => one.id === id);
  if (!plan || !notification) throw new AppError('notification.not_found', 'it has been deleted meanwhile');
  const [channel] = selectChannels([named], await plans.listUsable(organization.id, project.id));
  if (!channel) throw invalid({ channel: [`there is no channel of the slug or type ${JSON.stringify(named)}`] });
  const person = await findReader(deps, organization.id, user, mayReadUsers);
  const trial = await attempt(deps, channel, 0, to, async address => {
    const delivery = { address, notification_id: id, version: notification.version };
    const occurrence = sampleOccurrence(context, Date.now());
    const { content } = await writeMessage(plans, { delivery, occurrence, person, channel, plan });
    const path = `${project.slug}/${application.slug}/${event.slug}`;
    return { content, tags: { organization: organization.slug, event: path, notification: name } };
  });
  const path = [project.slug, application.slug, event.slug, name].join('/');
  const said = { channel: channel.slug, to: to ?? null, ok: trial.ok, detail: trial.detail };
  await note(deps, organization.id, 'notification', path, said);
  return trial;
}

type Written = Pick<Outgoing, 'tags'> & { content: Content };

async function attempt(
  deps: Deps,
  channel: PlannedChannel,
  index: number,
  to: string | undefined,
  write: (address: string) => Written | Promise<Written>,
): Promise<Trial> {
  const began = performance.now();
  const end = (trial: Partial<Trial>): Trial => ({
    ok: false,
    provider: null,
    reason: null,
    detail: null,
    message_id: null,
    ...trial,
    ms: Math.round(performance.now() - began),
  });
  let planned: PlannedProvider | undefined;
  let written: Written;
  let address = '';
  try {
    planned = channel.providers[index];
    if (!planned) {
      const there = channel.providers.length;
      if (index > 0) throw invalid({ provider: [`there is none of that number: the channel has ${there}`] });
      return end({ reason: 'channel.unusable', detail: 'the channel has no provider: give it one' });
    }
    address = readTo(channel, planned.provider.reach?.(planned.settings) ?? 'address', to);
    written = await write(address);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'request.invalid') throw error;
    return end({ provider: planned?.provider.name ?? null, reason: error.code, detail: error.message });
  }
  const outgoing = { id: `test.${uuidv7(Date.now())}`, address, createdAt: new Date(), ...written };
  const outcome = await send(deps, planned, outgoing);
  const provider = planned.provider.name;
  if (outcome.ok) {
    const detail = keepers[provider] ?? null;
    return end({ ok: true, provider, detail, message_id: outcome.id === undefined ? null : shorten(outcome.id) });
  }
  return end({ provider, reason: outcome.unknown ? 'unknown' : 'provider.failed', detail: shorten(outcome.reason) });
}

/** Enough to see what is wrong, and too little to read another server's pages by testing a channel. */
function shorten(text: string): string {
  return text.length > longestDetail ? `${text.slice(0, longestDetail - 1)}…` : text;
}

/** Providers that send nothing: whoever tries them is told. */
const keepers: Record<string, string> = {
  sandbox: 'a sandbox sends nothing',
  inbox: 'the channel works; a test is not put into an inbox',
};

function readTo({ type, slug }: PlannedChannel, reach: Reach, to: string | undefined): string {
  if (reach === 'room') return `room ${slug}`;
  if (to === undefined) {
    if (reach === 'recipient') return '';
    throw invalid({ to: [`is required: a channel of type ${type} sends to an address`] });
  }
  const read = readAddress(type, to);
  if ('mistake' in read) throw invalid({ to: [read.mistake] });
  return read.value;
}

/** Opened for this one message: what the workers keep open, and how they judge the provider, stays theirs. */
async function send({ outbound }: Deps, planned: PlannedProvider, outgoing: Outgoing): Promise<Outcome> {
  const sender = planned.provider.open(planned.settings as never, { outbound });
  const patience = new AbortController();
  const impatience = async (): Promise<Outcome> => {
    await sleep(longestMs, undefined, { signal: patience.signal });
    const reason = `no answer within ${longestMs / 1_000} seconds`;
    return { ok: false, retry: true, unknown: true, reason };
  };
  try {
    return await Promise.race([sender.send(outgoing), impatience()]);
  } catch (error) {
    return { ok: false, retry: false, reason: `the provider failed: ${(error as Error).message}` };
  } finally {
    patience.abort();
    void sender.close().catch(() => {});
  }
}

async function note(deps: Deps, organizationId: number, noun: string, path: string, after: Json): Promise<void> {
  await record(deps, deps.db, organizationId, { action: 'test', noun, path, after });
}
