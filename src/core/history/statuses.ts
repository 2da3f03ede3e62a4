/** Statuses of occurrences, deliveries and steps. */
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
/** Statuses of deliveries that are sent when they are due. */
export const waitingStatuses = ['pending', 'retrying'] as const;
/** Statuses of deliveries whose outcome is still open. */
export const openStatuses = [...waitingStatuses, 'sending'] as const;
/** Final statuses; only sending the delivery again changes them. */
export const endedStatuses = ['sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown'] as const;
export type EndedStatus = (typeof endedStatuses)[number];

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Statuses of a run of a step, as the API shows them. */
export const stepStatuses = ['planned', 'running', 'done', 'skipped', 'ended'] as const;
