/**
 * A message as one recipient gets it: written by the engine, imagined by a simulation, and written again for whoever asks
 * later. Its template can speak of the people and things around a delivery, the context's own keys, and extra context.
 */
import { AppError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import { type Content, renderMessage } from '../core/render.ts';
import type { Delivery } from '../db/deliveries.ts';
import { findDelivery, findOccurrencesAcrossTenants, type OccurrenceFacts } from '../db/occurrences.ts';
import { findRecipientsAcrossTenants, type Person } from '../db/recipients.ts';
import type { Deps } from './deps.ts';
import type { EventPlan, PlannedChannel, Plans } from './plans.ts';
import { describeUser } from './recipients.ts';

export interface Around {
  delivery: Pick<Delivery, 'address' | 'notification_id' | 'version'>;
  occurrence: Pick<OccurrenceFacts, 'id' | 'context' | 'correlation_id' | 'created_at'>;
  person: Person;
  channel: PlannedChannel;
  plan: EventPlan;
}

/** Throws `template.failed`, also when there is no such version any more. */
export async function writeMessage(plans: Plans, around: Around): Promise<Content> {
  const { delivery, person, channel, plan } = around;
  const { notification_id, version } = delivery;
  const message = await plans.findMessage(plan.organization.id, notification_id, version);
  if (!message) throw new AppError('template.failed', 'the message of this notification has been deleted');
  const notification = plan.notifications.find(one => one.id === notification_id);
  return renderMessage(message, {
    medium: channel.type,
    channel: channel.slug,
    locale: person.locale ?? undefined,
    layout: message.standsIn,
    scope: scopeOf(around, notification?.extraContext ?? {}),
  });
}

/**
 * What was sent is not kept: the version of the message that the delivery remembers and the context tell it again. Names
 * and custom fields are those that the user has now.
 */
export async function viewMessage(
  { db, plans }: Deps,
  organizationId: number,
  occurrenceId: string,
  deliveryId: number,
): Promise<Content> {
  const [delivery, [occurrence]] = await Promise.all([
    findDelivery(db, organizationId, occurrenceId, deliveryId),
    findOccurrencesAcrossTenants(db, [{ organizationId, id: occurrenceId }]),
  ]);
  if (!delivery || !occurrence) throw new AppError('delivery.not_found', `there is no delivery ${deliveryId}`);
  const [[person], channels, plan] = await Promise.all([
    findRecipientsAcrossTenants(db, [{ organizationId, userId: delivery.user_id }]),
    plans.listChannels(organizationId),
    plans.findEvent(organizationId, occurrence.event_id),
  ]);
  const channel = channels.find(one => one.id === delivery.channel_id);
  const gone = !plan ? 'event' : !person ? 'user' : !channel ? 'channel' : undefined;
  if (gone) throw new AppError('message.not_found', `it cannot be written again: the ${gone} has been deleted`);
  return writeMessage(plans, { delivery, occurrence, person: person!, channel: channel!, plan: plan! });
}

/** Names of Belfry's own win over the context's of the same name, which stay reachable as `context.…`. */
function scopeOf(
  { delivery, occurrence, person, channel, plan }: Around,
  extraContext: JsonObject,
): Record<string, unknown> {
  const named = ({ slug, name }: { slug: string; name: string }) => ({ slug, name });
  return {
    ...extraContext,
    ...occurrence.context,
    context: occurrence.context,
    user: describeUser(person),
    event: named(plan),
    application: named(plan.application),
    project: named(plan.project),
    organization: named(plan.organization),
    occurrence: {
      identifier: occurrence.id,
      created_at: occurrence.created_at.toISOString(),
      correlation_id: occurrence.correlation_id,
    },
    channel: { slug: channel.slug, type: channel.type },
    address: delivery.address,
    now: occurrence.created_at.toISOString(),
  };
}
