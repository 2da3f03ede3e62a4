/**
 * Renders the message of a delivery for the engine, for simulation and for the history. Templates have access to the user,
 * the event and its parents, the keys of the context, and extra context.
 */
import { bundleScope } from '../core/decision/bundle.ts';
import { digestScope } from '../core/decision/digest.ts';
import type { VariantName } from '../core/decision/guards/variants.ts';
import { AppError } from '../core/errors.ts';
import { withContextAt } from '../core/history/earlier-contexts.ts';
import { isObject, type JsonObject } from '../core/json.ts';
import type { RenderedLinks } from '../core/render/footer.ts';
import type { Content, MessageContent, RenderOptions } from '../core/render/render.ts';
import type { RecipientRecord } from '../db/audience/recipients.ts';
import type { OccurrenceFacts } from '../db/history/occurrences.ts';
import type { Delivery } from '../db/ledger/deliver/deliveries.ts';
import type { DigestItems } from '../db/ledger/digests/digests.ts';
import { resolutionRun } from '../db/ledger/steps/steps.ts';
import { currentTime } from '../lib/time/clock.ts';
import type { EventPlan } from './event-plan.ts';
import type { PlannedChannel, PlannedMessage, Plans, StoredMessage } from './plans.ts';
import { describeUser, type UserFacts } from './recipients.ts';
import { bundleContextOf, type RenderContext, renderContextOf } from './rendering/render-snapshots.ts';

export interface MessageContext {
  delivery: Pick<Delivery, 'address' | 'notification_id' | 'version'> & {
    step?: number;
    variant?: VariantName | null;
    digest_id?: string | null;
    created_at?: Date;
  };
  occurrence: MessageOccurrence;
  recipient: RecipientRecord;
  channel: PlannedChannel;
  plan: EventPlan;
  /** The items of a digest; absent for a single message. */
  digestItems?: DigestItems;
  /** The time of sending, for who is on call. Default: now. */
  at?: number;
  /** Called right before rendering. */
  mark?: () => void;
}

type MessageOccurrence = Pick<OccurrenceFacts, 'id' | 'context' | 'correlation_id' | 'created_at'> &
  Partial<Pick<OccurrenceFacts, 'earlier_contexts'>>;

/** The items of a digest as templates see them. */
interface DigestEntries {
  items: Pick<DigestItems['items'][number], 'context' | 'created_at'>[];
  count: number;
}

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
  /** Set if it is a message about several alerts. */
  bundle: Bundle | undefined;
}

/**
 * Renders a delivery. Throws `template.failed`, also when the version has been deleted. Without `html`, an email is not
 * put into its layout, which saves half of the work.
 */
export async function renderDelivery(plans: Plans, context: MessageContext, html = true): Promise<RenderedMessage> {
  const { delivery, recipient, channel, plan } = context;
  const { notification_id, version, address } = delivery;
  const occurrence = withContextAt(context.occurrence, delivery.created_at);
  const { step = 0 } = delivery;
  const { digestItems } = context;
  const bundle = bundleIn(digestItems, delivery.digest_id);
  const message = bundle
    ? await plans.bundleMessage(plan.organization.id)
    : await plans.findMessage(plan.organization.id, notification_id, version, {
        isResolution: step === resolutionRun,
        variant: delivery.variant ?? null,
      });
  if (!message) throw new AppError('template.failed', 'the message of this notification has been deleted');
  const { schedules } = message;
  const oncall =
    schedules.length > 0 ? await plans.describeOnCall(plan, schedules, context.at ?? currentTime()) : undefined;
  const renderContext = {
    ...(bundle ? bundleContextOf(plan, channel) : renderContextOf(plan, channel, notification_id)),
    ...(oncall && { oncall }),
  };
  // Alerts of a bundle may be of several categories.
  const links = bundle ? undefined : plans.linksFor(recipient, plan.topic.category, channel.type);
  const acknowledgeUrlOf = (id: string) => plans.acknowledgeUrlFor(recipient, id, channel.reach);
  const acknowledge_url = bundle
    ? bundleUrlOf(bundle, step, acknowledgeUrlOf)
    : step > 0
      ? acknowledgeUrlOf(occurrence.id)
      : '';
  const details = {
    address,
    links,
    acknowledge_url,
    step,
    digestItems,
    ...(bundle && { bundle: { ...bundle, acknowledgeUrlOf } }),
  };
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
  return { content, message, renderContext, links, acknowledgeUrl: acknowledge_url, locale: options.locale, bundle };
}

export function contentOf({ message, overrides }: StoredMessage): MessageContent {
  return { ...message, overrides };
}

interface MessageDetails {
  address: string | null;
  links: RenderedLinks | undefined;
  acknowledge_url: string;
  step: number;
  digestItems?: DigestEntries | undefined;
  bundle?: (Bundle & { acknowledgeUrlOf: (occurrenceId: string) => string }) | undefined;
}

/** Several alerts in one message. */
export interface Bundle {
  id: string;
  items: DigestItems['items'];
  count: number;
  critical: number;
}

/** Returns the bundle that a delivery carries. A bundle of one alert is sent as the message of that alert. */
export function bundleIn(items: DigestItems | undefined, id: string | null | undefined): Bundle | undefined {
  const isBundle = items?.critical !== undefined && items.count > 1 && id;
  return isBundle ? { id, items: items.items, count: items.count, critical: items.critical! } : undefined;
}

/** The link that acknowledges all alerts of a bundle. */
export function bundleUrlOf({ id }: Bundle, step: number, urlOf: (id: string) => string): string {
  return step >= 0 ? urlOf(id) : '';
}

/** Returns the render options. Belfry's own variables override context keys of the same name, which remain available as `context.…`. */
export function optionsFor(
  renderContext: RenderContext,
  occurrence: MessageOccurrence,
  recipient: UserFacts & Pick<RecipientRecord, 'memberships'>,
  { address, links, acknowledge_url, step, digestItems, bundle }: MessageDetails,
): RenderOptions {
  const { extra_context, event, application, application_id, project, organization, channel, oncall } = renderContext;
  const ownOnCall = occurrence.context.oncall ?? extra_context.oncall;
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
      ...(bundle
        ? bundleScope(bundle.items, bundle, step < 0 ? () => '' : bundle.acknowledgeUrlOf)
        : renderContext.max_items !== undefined && toScope(digestItems ?? { items: [occurrence], count: 1 })),
      // A context may have its own, except for names of schedules.
      ...(oncall && { oncall: { ...(isObject(ownOnCall) && ownOnCall), ...oncall } }),
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
function toScope({ items, count }: DigestEntries): Record<string, unknown> {
  return { ...digestScope(items, count) };
}

function ownLinks({ unsubscribe_url, preferences_url }: JsonObject) {
  return {
    ...(unsubscribe_url !== undefined && { unsubscribe_url }),
    ...(preferences_url !== undefined && { preferences_url }),
  };
}
