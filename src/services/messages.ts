/**
 * A message as one recipient gets it: written by the engine, imagined by a simulation, and written again for whoever asks
 * later. Its template can speak of the people and things around a delivery, the context's own keys, and extra context.
 */
import { digestLimits, digestScope } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { RenderedLinks } from '../core/render/footer.ts';
import {
  type Content,
  compileLayout,
  compileMessage,
  type MessageContent,
  type RenderOptions,
} from '../core/render/render.ts';
import type { Delivery } from '../db/deliveries.ts';
import { type DeliveryParts, findCarrier, findDelivery } from '../db/delivery-list.ts';
import { findGathered, type GatheredItems } from '../db/digests.ts';
import { findOccurrencesAcrossTenants, type OccurrenceFacts } from '../db/occurrences.ts';
import { findRecipientsAcrossTenants, type Person } from '../db/recipients.ts';
import { findRenderSnapshot } from '../db/render-snapshots.ts';
import { resolutionRun } from '../db/steps.ts';
import { findUserAsOf } from '../db/users.ts';
import type { Deps } from './deps.ts';
import type { EventPlan, PlannedChannel, PlannedMessage, Plans, StoredMessage } from './plans.ts';
import { describeUser, type UserFacts } from './recipients.ts';
import { type RenderContext, renderContextOf } from './render-snapshots.ts';

export interface MessageContext {
  delivery: Pick<Delivery, 'address' | 'notification_id' | 'version'> & { step?: number };
  occurrence: Trigger;
  person: Person;
  channel: PlannedChannel;
  plan: EventPlan;
  /** What a digest gathered; absent: one message by itself. */
  gathered?: GatheredItems;
  /** Called right before it is rendered. */
  mark?: () => void;
}

type Trigger = Pick<OccurrenceFacts, 'id' | 'context' | 'correlation_id' | 'created_at'>;

export interface Written {
  content: Content;
  /** What it was written with. */
  message: PlannedMessage;
  renderContext: RenderContext;
  /** Undefined where the recipient has nothing to decide. */
  links: RenderedLinks | undefined;
}

/**
 * Throws `template.failed`, also when there is no such version any more. Without `html`, an email is not set into its
 * layout: for whoever reads none, that would be half of the work.
 */
export async function writeMessage(plans: Plans, context: MessageContext, html = true): Promise<Written> {
  const { delivery, occurrence, person, channel, plan } = context;
  const { notification_id, version, address } = delivery;
  const { step = 0 } = delivery;
  const message = await plans.findMessage(plan.organization.id, notification_id, version, step === resolutionRun);
  if (!message) throw new AppError('template.failed', 'the message of this notification has been deleted');
  const renderContext = renderContextOf(plan, channel, notification_id);
  const links = plans.linksFor(person, plan.topic.category, channel.type);
  const acknowledge_url = step > 0 ? plans.acknowledgeUrlFor(person, occurrence.id, channel.reach) : '';
  const { gathered } = context;
  const options = optionsFor(renderContext, occurrence, person, address, links, { acknowledge_url, step, gathered });
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
  return { content, message, renderContext, links };
}

/**
 * What was sent is not kept: what it was written with is, and tells it again. A message that has not been written yet is
 * shown as it would be now.
 */
export async function viewMessage(
  deps: Deps,
  organizationId: number,
  occurrenceId: string,
  deliveryId: number,
): Promise<Content> {
  const { db, pool } = deps;
  const asked = await findDelivery(db, organizationId, occurrenceId, deliveryId);
  const carrier = asked?.digest_id ? await findCarrier(db, organizationId, asked.digest_id) : undefined;
  const delivery = carrier ?? asked;
  const wanted = { organizationId, id: carrier?.occurrence_id ?? occurrenceId };
  const [occurrence] = await findOccurrencesAcrossTenants(pool, [wanted]);
  if (!delivery || !occurrence) throw new AppError('delivery.not_found', `there is no delivery ${deliveryId}`);
  if (delivery.wording === null) return renderAsOfNow(deps, organizationId, delivery, occurrence);
  const [wording, person] = await Promise.all([
    findRenderSnapshot(db, organizationId, delivery.wording),
    findUserAsOf(db, organizationId, delivery.user_id, delivery.user_version!),
  ]);
  if (!person) throw gone('user');
  if (!wording) throw gone('message');
  const content = contentOf(wording.message as unknown as StoredMessage);
  const layout = wording.layout ?? undefined;
  const renderContext = wording.renderContext as unknown as RenderContext;
  const { category, channel } = renderContext;
  const links = category && deps.plans.linksFor(nobody, category, channel.type);
  const gathered = await readGathered(deps, organizationId, delivery, renderContext.most_items);
  return deps.rendering.render(organizationId, compileMessage(content, 'checked'), () => ({ content, layout }), {
    ...optionsFor(renderContext, occurrence, person, delivery.address, links, {
      acknowledge_url: delivery.step > 0 ? deps.plans.acknowledgeUrlFor(nobody, occurrenceId, 'address') : '',
      step: delivery.step,
      gathered,
    }),
    layout: layout === undefined ? undefined : compileLayout(layout, 'checked'),
  });
}

/** Whoever reads a message again gets links that lead nowhere: it is not theirs. */
const nobody = { organization_id: 0, user_id: 0, link_generation: 0 };

function contentOf({ message, overrides }: StoredMessage): MessageContent {
  return { ...message, overrides };
}

async function renderAsOfNow(
  deps: Deps,
  organizationId: number,
  delivery: DeliveryParts,
  occurrence: OccurrenceFacts,
): Promise<Content> {
  const { pool, plans } = deps;
  const [[person], channels, plan] = await Promise.all([
    findRecipientsAcrossTenants(pool, [{ organizationId, userId: delivery.user_id }]),
    plans.listChannels(organizationId),
    plans.findEvent(organizationId, occurrence.event_id),
  ]);
  const channel = channels.find(one => one.id === delivery.channel_id);
  if (!plan) throw gone('event');
  if (!person) throw gone('user');
  if (!channel) throw gone('channel');
  const { mostItems } = plan.notifications.find(({ id }) => id === delivery.notification_id) ?? {};
  const gathered = await readGathered(deps, organizationId, delivery, mostItems);
  const context = { delivery, occurrence, person, channel, plan, ...(gathered && { gathered }) };
  return (await writeMessage(plans, context)).content;
}

async function readGathered(
  { pool }: Deps,
  organizationId: number,
  { digest_id }: DeliveryParts,
  most: number = digestLimits.usualMost,
): Promise<GatheredItems | undefined> {
  return digest_id === null ? undefined : findGathered(pool, organizationId, digest_id, most);
}

function gone(what: string): AppError {
  return new AppError('message.not_found', `it cannot be written again: the ${what} has been deleted`);
}

/** Names of Belfry's own win over the context's of the same name, which stay reachable as `context.…`. */
export function optionsFor(
  renderContext: RenderContext,
  occurrence: Trigger,
  person: UserFacts & Pick<Person, 'memberships'>,
  address: string | null,
  links: RenderedLinks | undefined,
  { acknowledge_url, step, gathered }: { acknowledge_url: string; step: number; gathered?: GatheredItems | undefined },
): RenderOptions {
  const { extra_context, event, application, application_id, project, organization, channel } = renderContext;
  const createdAt = occurrence.created_at.toISOString();
  return {
    medium: channel.type,
    channel: channel.slug,
    locale: person.locale ?? undefined,
    scope: {
      // Empty for who is not registered; a context that has its own keeps it.
      membership: (application_id !== undefined && person.memberships?.[application_id]) || {},
      ...extra_context,
      ...occurrence.context,
      // Empty, so that a template may ask; a context that has its own keeps it.
      ...(links ?? { unsubscribe_url: '', preferences_url: '', ...ownLinks(occurrence.context) }),
      ...(acknowledge_url || occurrence.context.acknowledge_url === undefined ? { acknowledge_url } : {}),
      ...(renderContext.most_items !== undefined && toScope(gathered ?? { items: [occurrence], count: 1 })),
      context: occurrence.context,
      user: describeUser(person),
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

/** What goes out by itself, though its notification gathers, is a digest of one: its template need not tell them apart. */
function toScope({ items, count }: GatheredItems): Record<string, unknown> {
  return { ...digestScope(items, count) };
}

function ownLinks({ unsubscribe_url, preferences_url }: JsonObject) {
  return {
    ...(unsubscribe_url !== undefined && { unsubscribe_url }),
    ...(preferences_url !== undefined && { preferences_url }),
  };
}
