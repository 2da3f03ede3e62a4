/**
 * Shows the message of a delivery. Sent messages are not stored; they are rendered again from their render snapshot.
 */

import { bundleLimits, isBundleId } from '../../core/decision/bundle.ts';
import type { Reach } from '../../core/decision/decide.ts';
import { digestLimits } from '../../core/decision/digest.ts';
import { AppError } from '../../core/errors.ts';
import { withContextAt } from '../../core/history/earlier-contexts.ts';
import { type Content, compileLayout, compileMessage } from '../../core/render/render.ts';
import { findRecipientsAcrossTenants } from '../../db/audience/recipients.ts';
import { findUserAtVersion } from '../../db/audience/users.ts';
import { type DeliveryRenderInput, findDelivery, findDigestCarrier } from '../../db/history/delivery-list.ts';
import { findOccurrencesAcrossTenants, type OccurrenceFacts } from '../../db/history/occurrences.ts';
import { findRenderSnapshot } from '../../db/ledger/deliver/render-snapshots.ts';
import { type DigestItems, findDigestItems } from '../../db/ledger/digests/digests.ts';
import { bundleIn, bundleUrlOf, contentOf, optionsFor, renderDelivery } from '../../pipeline/messages.ts';
import type { StoredMessage } from '../../pipeline/plans.ts';
import type { RenderContext } from '../../pipeline/rendering/render-snapshots.ts';
import type { Deps } from '../deps.ts';

type RenderDeps = Pick<Deps, 'db' | 'pool' | 'plans' | 'rendering'>;

/** The viewer is not the recipient, so links in the shown message must not work. */
const noRecipient = { organization_id: 0, user_id: 0, link_generation: 0, reach: 'address' as Reach };

/**
 * Renders the message of a delivery as it was sent, or as it would be sent now if there was no attempt yet. Its links work for
 * the recipient, if there is one.
 */
export async function viewMessage(
  deps: RenderDeps,
  organizationId: number,
  occurrenceId: string,
  deliveryId: number,
  recipient = noRecipient,
): Promise<Content> {
  const { db, pool } = deps;
  const requested = await findDelivery(db, organizationId, occurrenceId, deliveryId);
  const carrier = requested?.digest_id ? await findDigestCarrier(db, organizationId, requested.digest_id) : undefined;
  const delivery = carrier ?? requested;
  const key = { organizationId, id: carrier?.occurrence_id ?? occurrenceId };
  const [occurrence] = await findOccurrencesAcrossTenants(pool, [key]);
  if (!delivery || !occurrence) throw new AppError('delivery.not_found', `there is no delivery ${deliveryId}`);
  if (delivery.snapshot_id === null) return renderNow(deps, organizationId, delivery, occurrence);
  const [snapshot, user] = await Promise.all([
    findRenderSnapshot(db, organizationId, delivery.snapshot_id),
    findUserAtVersion(db, organizationId, delivery.user_id, delivery.user_version!),
  ]);
  if (!user) throw notFound('user');
  if (!snapshot) throw notFound('message');
  const content = contentOf(snapshot.message as unknown as StoredMessage);
  const layout = snapshot.layout ?? undefined;
  const renderContext = snapshot.renderContext as unknown as RenderContext;
  const { category, channel } = renderContext;
  const links = category && deps.plans.linksFor(recipient, category, channel.type);
  const digestItems = await readDigestItems(deps, organizationId, delivery, renderContext.max_items);
  const acknowledgeUrlOf = (id: string) => deps.plans.acknowledgeUrlFor(recipient, id, recipient.reach);
  const bundle = bundleIn(digestItems, delivery.digest_id);
  return deps.rendering.render(organizationId, compileMessage(content, 'checked'), () => ({ content, layout }), {
    ...optionsFor(renderContext, withContextAt(occurrence, delivery.created_at), user, {
      address: delivery.address,
      links: bundle ? undefined : links,
      acknowledge_url: bundle
        ? bundleUrlOf(bundle, delivery.step, acknowledgeUrlOf)
        : delivery.step > 0
          ? acknowledgeUrlOf(occurrenceId)
          : '',
      step: delivery.step,
      digestItems,
      ...(bundle && { bundle: { ...bundle, acknowledgeUrlOf } }),
    }),
    layout: layout === undefined ? undefined : compileLayout(layout, 'checked'),
  });
}

async function renderNow(
  deps: RenderDeps,
  organizationId: number,
  delivery: DeliveryRenderInput,
  occurrence: OccurrenceFacts,
): Promise<Content> {
  const { pool, plans } = deps;
  const [[recipient], channels, plan] = await Promise.all([
    findRecipientsAcrossTenants(pool, [{ organizationId, userId: delivery.user_id }]),
    plans.listChannels(organizationId),
    plans.findEvent(organizationId, occurrence.event_id),
  ]);
  const channel = channels.find(one => one.id === delivery.channel_id);
  if (!plan) throw notFound('event');
  if (!recipient) throw notFound('user');
  if (!channel) throw notFound('channel');
  const { maxItems } = plan.notifications.find(({ id }) => id === delivery.notification_id) ?? {};
  const digestItems = await readDigestItems(deps, organizationId, delivery, maxItems);
  const context = { delivery, occurrence, recipient, channel, plan, ...(digestItems && { digestItems }) };
  return (await renderDelivery(plans, context)).content;
}

async function readDigestItems(
  { pool }: RenderDeps,
  organizationId: number,
  { digest_id }: DeliveryRenderInput,
  max: number = digestLimits.defaultMax,
): Promise<DigestItems | undefined> {
  if (digest_id === null) return undefined;
  return findDigestItems(pool, organizationId, digest_id, isBundleId(digest_id) ? bundleLimits.items : max);
}

function notFound(noun: string): AppError {
  return new AppError('message.not_found', `the message cannot be rendered: the ${noun} has been deleted`);
}
