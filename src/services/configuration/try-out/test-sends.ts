/**
 * Test sends of a channel or a notification: sends one real message now and returns the provider's answer. Only an audit
 * entry is stored.
 */
import { selectChannels } from '../../../core/decision/decide.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { compileMessage } from '../../../core/render/render.ts';
import { fold } from '../../../core/text/text.ts';
import { isUrgent } from '../../../core/trigger.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import { findMemberByEmail } from '../../../db/identity/memberships.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { renderDelivery } from '../../../pipeline/messages.ts';
import type { PlannedChannel } from '../../../pipeline/plans.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { findSampleRecipient } from './preview.ts';
import { type SendResult, sendNow } from './send-now.ts';
import { sampleOccurrence } from './simulation.ts';

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
): Promise<SendResult> {
  const channels = await deps.plans.listChannels(organization.id);
  const channel = channels.find(one => one.id === id);
  if (!channel) throw new AppError('channel.not_found', 'the channel has been deleted in the meantime');
  const check = await deps.rendering.createChecker(organization.id, [subject, body]);
  const message = compileMessage({ subject, body }, check);
  const result = await sendNow(deps, channel, index, { to }, async address => {
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
): Promise<SendResult> {
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
  const result = await sendNow(deps, channel, 0, { to, restrict }, async address => {
    const delivery = { address, notification_id: id, version: notification.version };
    const occurrence = sampleOccurrence(context, currentTime());
    const { content } = await renderDelivery(plans, { delivery, occurrence, recipient, channel, plan });
    const path = `${project.slug}/${application.slug}/${event.slug}`;
    const tags = { organization: organization.slug, event: path, notification: name };
    return { content, tags, ...(isUrgent(notification.priority) && { urgent: true }) };
  });
  const path = [project.slug, application.slug, event.slug, name].join('/');
  const audited = { channel: channel.slug, to: to ?? null, ok: result.ok, detail: result.detail };
  await recordTest(deps, organization.id, 'notification', path, audited);
  return result;
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

async function recordTest(deps: Deps, organizationId: number, noun: string, path: string, after: Json): Promise<void> {
  await record(deps, deps.db, organizationId, { action: 'test', noun, path, after });
}
