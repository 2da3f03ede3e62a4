/** Adds the files of the trigger and of the template to a message, or their names if its provider cannot send files. */
import {
  type AttachmentReference,
  attachmentLimits,
  fileNameOfUrl,
  sourceOf,
  toFileName,
} from '../../core/message/attachments.ts';
import type { Settlement } from '../../db/ledger/deliver/deliveries.ts';
import { currentTime, timeAt } from '../../lib/time/clock.ts';
import type { Outgoing } from '../../providers/sending.ts';
import type { CheckedContext } from '../deliver/last-check.ts';
import { settleAttachmentError } from '../deliver/settlements.ts';
import type { Engine } from '../engine.ts';
import { AttachmentError } from './error.ts';
import { nameFiles } from './names.ts';

/** Sends a message with its files. They stay in memory until it was sent. */
export async function sendWithFiles(
  engine: Engine,
  { delivery, occurrence, channel }: CheckedContext,
  outgoing: Outgoing,
  send: (outgoing: Outgoing) => Promise<Settlement>,
): Promise<Settlement> {
  const references = joinReferences(occurrence.attachments ?? [], outgoing.content.attachments ?? []);
  if (references.length === 0) return send(outgoing);
  const { provider } = channel.providers[delivery.provider_index]!;
  if (!provider.attaches || delivery.digest_id !== null) {
    const names = references.map(({ name, url }) => (name ? toFileName(name) : url && fileNameOfUrl(url)));
    const stored = names.includes(undefined) ? await engine.attachments.findFacts(delivery, references) : [];
    const files = references.map(({ id }, i) => names[i] ?? stored.find(one => one.id === id)?.name ?? 'attachment');
    const content = provider.attaches ? outgoing.content : nameFiles(outgoing.content, files);
    const settlement = await send({ ...outgoing, content });
    const why = provider.attaches ? 'a digest carries no files' : `${provider.title} cannot send files`;
    const detail = `attachments left out, because ${why}: ${files.join(', ')}`;
    return settlement.status === 'sent' ? { ...settlement, detail } : settlement;
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
    const held = await engine.attachments.hold(delivery, references);
    try {
      return await send({ ...outgoing, attachments: held.attachments });
    } finally {
      held.release();
    }
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
