/** Identifies events and the deliveries that they are about. */
import { createHash } from 'node:crypto';
import { isUuid, toUuid } from '../ids.ts';
import type { FeedbackEvent } from './event.ts';

/** The key of a delivery within its organization. */
export interface DeliveryReference {
  occurrence: string;
  id: number;
}

/**
 * Returns the delivery that an event names: by Belfry's id, which most services return, or by the Message-ID, which starts
 * with it. Some services replace the dot by an underscore.
 */
export function findReference({
  deliveryId,
  messageId,
}: Pick<FeedbackEvent, 'deliveryId' | 'messageId'>): DeliveryReference | undefined {
  for (const text of [deliveryId, messageId]) {
    const [, occurrence = '', id] = /^<?([0-9a-f-]{36})[._](\d{1,15})(?:@[^<>\s]{1,255})?>?$/i.exec(text ?? '') ?? [];
    if (isUuid(occurrence)) return { occurrence: occurrence.toLowerCase(), id: Number(id) };
  }
  return undefined;
}

/** A delivery, and the organization that it belongs to. */
export interface TenantDelivery extends DeliveryReference {
  organizationId: number;
}

/** Matches what `compactReference` returns: three groups for `readCompactReference`. */
export const compactPattern = '([0-9a-z]{1,10})-([0-9a-z]{1,25})-([0-9a-z]{1,10})';

/** Returns a short name of a delivery, for what is signed: lower-case letters, digits and hyphens. */
export function compactReference({ organizationId, occurrence, id }: TenantDelivery): string {
  const uuid = BigInt(`0x${occurrence.replaceAll('-', '')}`);
  return `${organizationId.toString(36)}-${uuid.toString(36)}-${id.toString(36)}`;
}

export function readCompactReference(organization: string, uuid: string, id: string): TenantDelivery {
  let value = 0n;
  for (const digit of uuid) value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return {
    organizationId: Number.parseInt(organization, 36),
    occurrence: toUuid(value.toString(16).padStart(32, '0')),
    id: Number.parseInt(id, 36),
  };
}

const hourMs = 3_600_000;

/**
 * Returns what makes an event this event, as a UUID: the same for every repetition of a request, and for every webhook that
 * reports it. Opens and clicks of the same hour count as one, because programs that scan mails cause any number of them.
 */
export function feedbackKey(source: string, event: FeedbackEvent): string {
  const { type, recipient, messageId, deliveryId, at, link } = event;
  const isUse = type === 'opened' || type === 'clicked';
  const time = at && isUse ? Math.floor(Date.parse(at) / hourMs) : at;
  const fields = [
    source,
    type,
    deliveryId ?? messageId,
    recipient?.toLowerCase() ?? null,
    time,
    ...(link ? [link] : []),
  ];
  return toUuid(createHash('sha256').update(JSON.stringify(fields)).digest('hex').slice(0, 32));
}
