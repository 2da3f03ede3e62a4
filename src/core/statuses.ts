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
/** Those in which a delivery is to be sent, when it is due. */
export const waitingStatuses = ['pending', 'retrying'] as const;
/** Those in which something is still to come of it. */
export const openStatuses = [...waitingStatuses, 'sending'] as const;
/** Those in which a delivery rests, for good or until it is sent again. */
export const endedStatuses = ['sent', 'failed', 'suppressed', 'cancelled', 'expired', 'unknown'] as const;
export type EndedStatus = (typeof endedStatuses)[number];

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Of a run of a step, as people see it. */
export const stepStatuses = ['planned', 'running', 'done', 'skipped', 'ended'] as const;
export type StepStatus = (typeof stepStatuses)[number];
