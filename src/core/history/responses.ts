/** What was done about an occurrence with steps, and what happened to it without anyone. */
export const responseKinds = [
  'acknowledged',
  'snoozed',
  'unacknowledged',
  'resolved',
  'expired',
  'snooze_ended',
  'severity_rose',
] as const;
export type ResponseKind = (typeof responseKinds)[number];
