/**
 * Renders the message of a delivery, and adds the files of the trigger and of the template, or their names if its provider
 * cannot send files.
 */

import type { Category } from '../../core/configuration/nouns/category.ts';
import { bundleLimits, isBundleId } from '../../core/decision/bundle.ts';
import { digestLimits } from '../../core/decision/digest.ts';
import { generalSlug } from '../../core/decision/preferences.ts';
import { AppError } from '../../core/errors.ts';
import {
  type AttachmentReference,
  attachmentLimits,
  fileNameOfUrl,
  sourceOf,
  toFileName,
} from '../../core/message/attachments.ts';
import type { Content } from '../../core/render/render.ts';
import { isUrgent } from '../../core/trigger.ts';
import type { OccurrenceFacts } from '../../db/history/occurrences.ts';
import type { Delivery, Settlement } from '../../db/ledger/deliver/deliveries.ts';
import type { Span } from '../../lib/telemetry/traces.ts';
import { currentTime, timeAt } from '../../lib/time/clock.ts';
import type { ButtonsFor } from '../../pipeline/buttons.ts';
import { isTracked, type TrackMail } from '../../pipeline/message-links.ts';
import { type MessageContext, renderDelivery } from '../../pipeline/messages.ts';
import type { Plans } from '../../pipeline/plans.ts';
import type { RenderSnapshots } from '../../pipeline/rendering/render-snapshots.ts';
import type { Attachment, Outgoing } from '../../providers/sending.ts';
import type { DigestCloser } from '../../services/history/digests.ts';
import { AttachmentError } from '../attachments/error.ts';
import type { AttachmentFiles } from '../attachments/files.ts';
import { nameFiles } from '../attachments/names.ts';
import { linkDigestItems } from '../telemetry/spans.ts';
import type { WorkMarker } from '../work-marker.ts';
import { settleAttachmentError, settlementOf } from './settlements.ts';

export interface MessageTools {
  plans: Plans;
  digests: DigestCloser;
  snapshots: RenderSnapshots;
  attachments: AttachmentFiles;
  marker: WorkMarker;
  /** Returns the local part of the return path of a delivery. */
  returnPathOf: (delivery: Pick<Delivery, 'organization_id' | 'occurrence_id' | 'id'>) => string;
  /** Returns the buttons of a message, and where they are posted to. */
  buttonsFor: ButtonsFor;
  /** Undefined when the public address is not configured. */
  track: TrackMail | undefined;
}

/** The current state of a delivery that may be sent. */
export interface SendContext extends Pick<MessageContext, 'recipient' | 'channel' | 'plan'> {
  occurrence: OccurrenceFacts;
  /** The generation of `stops` before it was read. */
  readAt: number;
}

interface Message {
  outgoing: Outgoing;
  snapshotId: string;
}

/** Returns the message without its files, or how to settle a delivery that cannot be rendered. */
export async function renderMessage(
  tools: MessageTools,
  delivery: Delivery,
  context: SendContext,
  span: Span | undefined,
): Promise<Message | Settlement> {
  const rendering = span?.start('render');
  try {
    const message = await render(tools, delivery, context, span);
    rendering?.end();
    return message;
  } catch (error) {
    rendering?.end(error instanceof AppError ? 'template.failed' : 'service.internal');
    if (!(error instanceof AppError)) throw error;
    return settlementOf(delivery, { status: 'failed', reason: 'template.failed', detail: error.message });
  }
}

async function render(
  tools: MessageTools,
  delivery: Delivery,
  context: SendContext,
  span: Span | undefined,
): Promise<Message> {
  const { channel, plan } = context;
  const { category } = plan.topic;
  const html = channel.providers[delivery.provider_index]!.provider.reads !== 'text';
  const notification = plan.notifications.find(one => one.id === delivery.notification_id);
  const maxItems = isBundleId(delivery.digest_id) ? bundleLimits.items : notification?.maxItems;
  const digestItems = await readDigest(tools, delivery, maxItems);
  if (digestItems) linkDigestItems(span, context.occurrence.traceparent, digestItems.traceparents);
  const { content, message, renderContext, links, acknowledgeUrl, locale, bundle } = await tools.marker.during(
    { organizationId: delivery.organization_id, occurrenceId: delivery.occurrence_id, deliveryId: delivery.id },
    mark => renderDelivery(tools.plans, { ...context, delivery, mark, ...(digestItems && { digestItems }) }, html),
  );
  const snapshotId = await tools.snapshots.store(message, plan, channel, renderContext);
  const outgoing: Outgoing = {
    id: `${delivery.occurrence_id}.${delivery.id}`,
    address: delivery.address ?? '',
    content: channel.type === 'email' && isTracked(category) ? track(tools, delivery, content) : content,
    createdAt: delivery.created_at,
    ...(isUrgent(delivery.priority) && { urgent: true }),
    returnPath: () => tools.returnPathOf(delivery),
    ...(channel.type === 'email' && isChosen(category) && { category: category.slug }),
    ...(links && channel.type === 'email' && { unsubscribeUrl: links.unsubscribe_url }),
    ...(acknowledgeUrl && { acknowledgeUrl }),
    ...tools.buttonsFor(delivery, channel, { ...content, acknowledgeUrl, locale, bundle }),
    ...(locale && { locale }),
    tags: {
      organization: plan.organization.slug,
      event: `${plan.project.slug}/${plan.application.slug}/${plan.slug}`,
      notification: notification?.name ?? String(delivery.notification_id),
    },
  };
  return { outgoing, snapshotId };
}

/** Whether the category is one that recipients can leave, and not the one of events without a category. */
function isChosen({ slug, kind }: Category): boolean {
  return kind !== 'required' && slug !== generalSlug;
}

/** The history shows the message without this: links that are followed there must not count. */
function track(tools: MessageTools, { organization_id, occurrence_id, id }: Delivery, content: Content): Content {
  if (content.html === undefined || !tools.track) return content;
  const reference = { organizationId: organization_id, occurrence: occurrence_id, id };
  return { ...content, html: tools.track(reference, content.html) };
}

/** Closes the delivery's digest and returns its items. A retry adds nothing, because the digest stays closed. */
async function readDigest(
  { digests }: MessageTools,
  { organization_id, digest_id }: Delivery,
  max: number = digestLimits.defaultMax,
) {
  return digest_id === null ? undefined : digests.add({ organizationId: organization_id, id: digest_id, max });
}

/** What the files of a message change about it. */
export interface MessageFiles {
  attachments?: Attachment[];
  content?: Content;
  /** Says which files were left out, and why. */
  detail?: string;
  /** Frees the memory of the files. */
  release?: () => void;
}

/** Returns the files of a message, or how to settle the delivery if they are not available; undefined if it has none. */
export async function loadFiles(
  tools: MessageTools,
  delivery: Delivery,
  { occurrence, channel }: SendContext,
  content: Content,
): Promise<MessageFiles | Settlement | undefined> {
  const references = joinReferences(occurrence.attachments ?? [], content.attachments ?? []);
  if (references.length === 0) return undefined;
  const { provider } = channel.providers[delivery.provider_index]!;
  if (!provider.attaches || delivery.digest_id !== null) {
    const names = references.map(({ name, url }) => (name ? toFileName(name) : url && fileNameOfUrl(url)));
    const stored = names.includes(undefined) ? await tools.attachments.findFacts(delivery, references) : [];
    const files = references.map(({ id }, i) => names[i] ?? stored.find(one => one.id === id)?.name ?? 'attachment');
    const why = provider.attaches ? 'a digest carries no files' : `${provider.title} cannot send files`;
    const detail = `attachments left out, because ${why}: ${files.join(', ')}`;
    return { detail, content: provider.attaches ? content : nameFiles(content, files) };
  }
  if (references.length > attachmentLimits.files) {
    const error = new AttachmentError(
      `${references.length} files, more than the ${attachmentLimits.files} of a message`,
      false,
    );
    return settleAttachmentError(delivery, channel, error, currentTime());
  }
  const beganAt = performance.now();
  try {
    return await tools.attachments.hold(delivery, references);
  } catch (error) {
    if (!(error instanceof AttachmentError)) throw error;
    return {
      ...settleAttachmentError(delivery, channel, error, currentTime()),
      attempt: { began_at: new Date(timeAt(beganAt)), ms: Math.round(performance.now() - beganAt) },
    };
  }
}

/** A file that the trigger names is not sent again because the template names it too. */
function joinReferences(
  own: readonly AttachmentReference[],
  others: readonly AttachmentReference[],
): AttachmentReference[] {
  const references = new Map<string, AttachmentReference>();
  for (const one of [...own, ...others]) if (!references.has(sourceOf(one))) references.set(sourceOf(one), one);
  return [...references.values()];
}
