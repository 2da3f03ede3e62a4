/**
 * Renders the message of a delivery for the engine, for simulation and for the history. Templates have access to the user,
 * the event and its parents, the keys of the context, and extra context.
 */
import { digestScope } from '../core/decision/digest.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { RenderedLinks } from '../core/render/footer.ts';
import type { Content, MessageContent, RenderOptions } from '../core/render/render.ts';
import type { RecipientRecord } from '../db/audience/recipients.ts';
import type { OccurrenceFacts } from '../db/history/occurrences.ts';
import type { Delivery } from '../db/ledger/deliver/deliveries.ts';
import type { DigestItems } from '../db/ledger/digests/digests.ts';
import { resolutionRun } from '../db/ledger/steps/steps.ts';
import type { EventPlan } from './event-plan.ts';
import type { PlannedChannel, PlannedMessage, Plans, StoredMessage } from './plans.ts';
import { describeUser, type UserFacts } from './recipients.ts';
import { type RenderContext, renderContextOf } from './rendering/render-snapshots.ts';

export interface MessageContext {
  delivery: Pick<Delivery, 'address' | 'notification_id' | 'version'> & { step?: number };
  occurrence: MessageOccurrence;
  recipient: RecipientRecord;
  channel: PlannedChannel;
  plan: EventPlan;
  /** The items of a digest; absent for a single message. */
  digestItems?: DigestItems;
  /** Called right before rendering. */
  mark?: () => void;
}

type MessageOccurrence = Pick<OccurrenceFacts, 'id' | 'context' | 'correlation_id' | 'created_at'>;

interface RenderedMessage {
  content: Content;
  /** The template that was rendered. */
  message: PlannedMessage;
  renderContext: RenderContext;
  /** Undefined when the recipient cannot unsubscribe. */
  links: RenderedLinks | undefined;
  /** Empty if there is nothing to acknowledge, or no public address. */
  acknowledgeUrl: string;
  locale: string | undefined;
}

/**
 * Renders a delivery. Throws `template.failed`, also when the version has been deleted. Without `html`, an email is not
 * put into its layout, which saves half of the work.
 */
export async function renderDelivery(plans: Plans, context: MessageContext, html = true): Promise<RenderedMessage> {
  const { delivery, occurrence, recipient, channel, plan } = context;
  const { notification_id, version, address } = delivery;
  const { step = 0 } = delivery;
  const message = await plans.findMessage(plan.organization.id, notification_id, version, step === resolutionRun);
  if (!message) throw new AppError('template.failed', 'the message of this notification has been deleted');
  const renderContext = renderContextOf(plan, channel, notification_id);
  const links = plans.linksFor(recipient, plan.topic.category, channel.type);
  const acknowledge_url = step > 0 ? plans.acknowledgeUrlFor(recipient, occurrence.id, channel.reach) : '';
  const { digestItems } = context;
  const details = { address, links, acknowledge_url, step, digestItems };
  const options = optionsFor(renderContext, occurrence, recipient, details);
  const sources = () => ({
    content: contentOf(message.source as unknown as StoredMessage),
    layout: message.layoutSource,
  });
  const content = await plans.rendering.render(
    plan.organization.id,
    message,
    sources,
    { ...options, layout: message.compiledLayout, html },
    context.mark,
  );
  return { content, message, renderContext, links, acknowledgeUrl: acknowledge_url, locale: options.locale };
}

export function contentOf({ message, overrides }: StoredMessage): MessageContent {
  return { ...message, overrides };
}

interface MessageDetails {
  address: string | null;
  links: RenderedLinks | undefined;
  acknowledge_url: string;
  step: number;
  digestItems?: DigestItems | undefined;
}

/** Returns the render options. Belfry's own variables override context keys of the same name, which remain available as `context.…`. */
export function optionsFor(
  renderContext: RenderContext,
  occurrence: MessageOccurrence,
  recipient: UserFacts & Pick<RecipientRecord, 'memberships'>,
  { address, links, acknowledge_url, step, digestItems }: MessageDetails,
): RenderOptions {
  const { extra_context, event, application, application_id, project, organization, channel } = renderContext;
  const createdAt = occurrence.created_at.toISOString();
  return {
    medium: channel.type,
    channel: channel.slug,
    locale: recipient.locale ?? undefined,
    scope: {
      // Empty for users without a membership. A context may define its own.
      membership: (application_id !== undefined && recipient.memberships?.[application_id]) || {},
      ...extra_context,
      ...occurrence.context,
      // Empty if there are none, so that templates can test for them. A context may define its own.
      ...(links ?? { unsubscribe_url: '', preferences_url: '', ...ownLinks(occurrence.context) }),
      ...(acknowledge_url || occurrence.context.acknowledge_url === undefined ? { acknowledge_url } : {}),
      ...(renderContext.max_items !== undefined && toScope(digestItems ?? { items: [occurrence], count: 1 })),
      context: occurrence.context,
      user: describeUser(recipient),
      event,
      application,
      project,
      organization,
      occurrence: {
        identifier: occurrence.id,
        created_at: createdAt,
        correlation_id: occurrence.correlation_id,
        step: Math.max(0, step),
        resolved: step === resolutionRun,
      },
      channel,
      address,
      now: createdAt,
    },
  };
}

/** A single message of a notification with a digest is rendered as a digest of one, so that its template handles one case. */
function toScope({ items, count }: DigestItems): Record<string, unknown> {
  return { ...digestScope(items, count) };
}

function ownLinks({ unsubscribe_url, preferences_url }: JsonObject) {
  return {
    ...(unsubscribe_url !== undefined && { unsubscribe_url }),
    ...(preferences_url !== undefined && { preferences_url }),
  };
}
