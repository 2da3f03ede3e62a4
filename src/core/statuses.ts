/** Where an occurrence and a delivery can stand. */
export const occurrenceStatuses = ['accepted', 'expanding', 'sending', 'completed'] as const;
export type OccurrenceStatus = (typeof occurrenceStatuses)[number];

export const deliveryStatuses = [
  'pending',
  'sending',
  'sent',
  'retrying',
  'failed',
  'suppressed',
  'cancelled',
  'expired',
  'unknown',
] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];
