/**
 * Test sends of a channel or a notification: sends one real message now and returns the provider's answer. Only an audit
 * entry is stored.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSuppression, stopsChannel } from '../../../core/audience/suppressions.ts';
import { type Reach, type RecipientAddress, selectChannels } from '../../../core/decision/decide.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { uuidv7 } from '../../../core/ids.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import { type Content, compileMessage } from '../../../core/render/render.ts';
import { fold, readAddress } from '../../../core/text/text.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import { findMemberByEmail } from '../../../db/identity/memberships.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { renderDelivery } from '../../../pipeline/messages.ts';
import type { PlannedChannel, PlannedProvider } from '../../../pipeline/plans.ts';
import { markSuppressed } from '../../../pipeline/suppressions.ts';
import { explainDenied } from '../../../providers/provider.ts';
import type { Outcome, Outgoing } from '../../../providers/sending.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { findSampleRecipient } from './preview.ts';
import { sampleOccurrence } from './simulation.ts';

interface TestResult {
  ok: boolean;
  /** Name of the provider; null if none was reached. */
  provider: string | null;
  /** A stable code; null if it was sent. */
  reason: string | null;
  /** Status and beginning of the provider's answer. */
  detail: string | null;
  message_id: string | null;
  ms: number;
}

/** Providers may have longer timeouts than a caller should wait. */
const timeoutMs = 60_000;
const maxDetailLength = 200;

const defaultMessage = {
  subject: 'A test from Belfry',
  body: 'This is a test of the channel **{{ channel.slug }}**. If you can read it, the channel works.',
};

interface ChannelTest {
  to?: string;
  /** Templates, as in a message. */
  subject?: string;
  body?: string;
  /** Index of the provider in the channel. */
  provider?: number;
}

export async function testChannel(
  deps: Deps,
  organization: { id: number; slug: string },
  { id, path }: { id: number; path: string },
  { to, subject = defaultMessage.subject, body = defaultMessage.body, provider: index = 0 }: ChannelTest,
): Promise<TestResult> {
  const channels = await deps.plans.listChannels(organization.id);
  const channel = channels.find(one => one.id === id);
  if (!channel) throw new AppError('channel.not_found', 'the channel has been deleted in the meantime');
  const check = await deps.rendering.createChecker(organization.id, [subject, body]);
  const message = compileMessage({ subject, body }, check);
  const result = await sendTest(deps, channel, index, { to }, async address => {
    const scope = {
      channel: { slug: channel.slug, type: channel.type },
      address,
      now: new Date(currentTime()).toISOString(),
    };
    const sources = () => ({ content: { subject, body }, layout: undefined });
    const options = { medium: channel.type, channel: channel.slug, scope };
    const content = await deps.rendering.render(organization.id, message, sources, options);
    return { content, tags: { organization: organization.slug, event: 'test', notification: 'test' } };
  });
  await recordTest(deps, organization.id, 'channel', path, { to: to ?? null, ok: result.ok, detail: result.detail });
  return result;
}

interface NotificationTest {
  to?: string;
  /** Slug or type; a type selects its first channel. */
  channel: string;
  context?: JsonObject;
  /** Username of the recipient to render for. */
  user?: string;
}

/** What the caller may do beyond sending a test. */
interface TestRights {
  visible: VisibleUsers;
  /** Without it, a test by this channel reaches the caller's own address and team members only. */
  mayReachAnyone: (channel: Pick<PlannedChannel, 'projectId'>) => boolean;
}

export async function testNotification(
  deps: Deps,
  { organization, project, application, event }: Required<ResolvedPath>,
  { id, name }: { id: number; name: string },
  { to, channel: named, context = {}, user }: NotificationTest,
  { visible, mayReachAnyone }: TestRights,
): Promise<TestResult> {
  const { plans } = deps;
  const plan = await plans.findEvent(organization.id, event.id);
  const notification = plan?.notifications.find(one => one.id === id);
  if (!plan || !notification)
    throw new AppError('notification.not_found', 'the notification has been deleted in the meantime');
  const [channel] = selectChannels([named], await plans.listUsable(organization.id, project.id));
  if (!channel) throw invalid({ channel: [`there is no channel with the slug or type ${JSON.stringify(named)}`] });
  const recipient = await findSampleRecipient(deps, { organization, project }, user, visible);
  const restrict = mayReachAnyone(channel)
    ? undefined
    : (address: string) => requireTeamAddress(deps, organization.id, channel, address);
  const result = await sendTest(deps, channel, 0, { to, restrict }, async address => {
    const delivery = { address, notification_id: id, version: notification.version };
    const occurrence = sampleOccurrence(context, currentTime());
    const { content } = await renderDelivery(plans, { delivery, occurrence, recipient, channel, plan });
    const path = `${project.slug}/${application.slug}/${event.slug}`;
    return { content, tags: { organization: organization.slug, event: path, notification: name } };
  });
  const path = [project.slug, application.slug, event.slug, name].join('/');
  const audited = { channel: channel.slug, to: to ?? null, ok: result.ok, detail: result.detail };
  await recordTest(deps, organization.id, 'notification', path, audited);
  return result;
}

interface Destination {
  to: string | undefined;
  /** Returns the address to send to, or throws if the caller may not reach it. */
  restrict?: (address: string) => Promise<string>;
}

type RenderedTest = Pick<Outgoing, 'tags'> & { content: Content };

async function sendTest(
  deps: Deps,
  channel: PlannedChannel,
  index: number,
  { to, restrict }: Destination,
  render: (address: string) => RenderedTest | Promise<RenderedTest>,
): Promise<TestResult> {
  const startedAt = performance.now();
  const toResult = (result: Partial<TestResult>): TestResult => ({
    ok: false,
    provider: null,
    reason: null,
    detail: null,
    message_id: null,
    ...result,
    ms: Math.round(performance.now() - startedAt),
  });
  let planned: PlannedProvider | undefined;
  let rendered: RenderedTest;
  let address = '';
  try {
    planned = channel.providers[index];
    if (!planned) {
      const there = channel.providers.length;
      if (index > 0)
        throw invalid({ provider: [`must be less than ${there}, the number of providers of the channel`] });
      return toResult({ reason: 'channel.unusable', detail: 'the channel has no provider: add one' });
    }
    const reach = planned.provider.reach?.(planned.settings) ?? 'address';
    address = readDestination(channel, reach, to);
    if (restrict && reach === 'address') address = await restrict(address);
    const suppression = await findSuppression(deps, channel, address);
    if (suppression) {
      const provider = planned.provider.name;
      return toResult({ provider, reason: 'address.suppressed', detail: describeSuppression(suppression) });
    }
    rendered = await render(address);
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'request.invalid' || error.code === 'test.address') throw error;
    return toResult({ provider: planned?.provider.name ?? null, reason: error.code, detail: error.message });
  }
  const outgoing = { id: `test.${uuidv7(currentTime())}`, address, createdAt: new Date(currentTime()), ...rendered };
  const { testSends } = deps;
  if (!testSends.take(channel.organizationId, 1)) {
    throw new AppError('test.limited', 'too many test messages are being sent: wait until they have ended', {
      retryAfterSeconds: 1,
    });
  }
  const outcome = await send(deps, planned, outgoing).finally(() => testSends.release(channel.organizationId, 1));
  const provider = planned.provider.name;
  if (outcome.ok) {
    const detail = lookUp(nonSendingProviders, provider) ?? null;
    return toResult({ ok: true, provider, detail, message_id: outcome.id === undefined ? null : shorten(outcome.id) });
  }
  return toResult({
    provider,
    reason: outcome.unknown ? 'unknown' : 'provider.failed',
    detail: explain(planned, outcome),
  });
}

function explain({ provider, settings }: PlannedProvider, { denied, reason }: Extract<Outcome, { ok: false }>): string {
  return denied ? explainDenied(provider, settings, shorten(reason)) : shorten(reason);
}

async function findSuppression(deps: Deps, { organizationId, projectId, type }: PlannedChannel, address: string) {
  const destination: RecipientAddress = { name: type, value: address, disabled: false };
  await markSuppressed(deps, [{ organization_id: organizationId, addresses: [destination] }]);
  const { suppression } = destination;
  return suppression && stopsChannel(suppression, { projectId }) ? suppression : undefined;
}

/** Keeps enough to diagnose a failure, and too little to read pages of internal servers by testing a channel. */
function shorten(text: string): string {
  return text.length > maxDetailLength ? `${text.slice(0, maxDetailLength - 1)}…` : text;
}

/** Providers that send nothing, with the detail to return. */
const nonSendingProviders: Record<string, string> = {
  sandbox: 'the sandbox does not send messages',
  inbox: 'the channel works; test messages are not added to an inbox',
};

function readDestination({ type, slug }: PlannedChannel, reach: Reach, to: string | undefined): string {
  if (reach === 'room') return `room ${slug}`;
  if (to === undefined) {
    if (reach === 'recipient') return '';
    throw invalid({ to: [`is required: a channel of type ${type} sends to an address`] });
  }
  const read = readAddress(type, to);
  if ('mistake' in read) throw invalid({ to: [read.mistake] });
  return read.value;
}

/**
 * Returns the stored email address of the caller or team member that `address` names. It is not sent as typed: two addresses
 * that are equal after case folding may be different mailboxes.
 */
async function requireTeamAddress(
  { db, actor }: Deps,
  organizationId: number,
  { type }: PlannedChannel,
  address: string,
): Promise<string> {
  const email = fold(address);
  if (type === 'email') {
    if (actor.kind === 'account' && fold(actor.name) === email) return email;
    if (await findMemberByEmail(db, organizationId, email)) return email;
  }
  const allowed =
    type === 'email'
      ? 'a test reaches your own email address and those of team members; any other address'
      : `a test by ${type} to an address of your choice`;
  throw new AppError('test.address', `to: ${allowed} requires the permission channel:write`);
}

/** Opens a sender for this message only, so that tests do not affect the workers' connections and circuit breakers. */
async function send(deps: Deps, planned: PlannedProvider, outgoing: Outgoing): Promise<Outcome> {
  const { outbound, hostName, awsRole } = deps;
  const sender = planned.provider.open(planned.settings as never, { outbound, hostName, awsRole });
  const timer = new AbortController();
  const timeout = async (): Promise<Outcome> => {
    await sleep(timeoutMs, undefined, { signal: timer.signal });
    const reason = `no answer within ${timeoutMs / 1_000} seconds`;
    return { ok: false, retry: true, unknown: true, reason };
  };
  try {
    return await Promise.race([sender.send(outgoing), timeout()]);
  } catch (error) {
    return { ok: false, retry: false, reason: `the provider failed: ${(error as Error).message}` };
  } finally {
    timer.abort();
    void sender.close().catch(() => {});
  }
}

async function recordTest(deps: Deps, organizationId: number, noun: string, path: string, after: Json): Promise<void> {
  await record(deps, deps.db, organizationId, { action: 'test', noun, path, after });
}
