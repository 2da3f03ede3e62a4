/** Occurrences that someone should take care of: those with a dedup key or with steps. */
/**
 * An incident is in one of them: `silenced` if a silence holds or suppresses it, `snoozed` if it is acknowledged until a time at a request.
 */
export const incidentStates = ['open', 'silenced', 'acknowledged', 'snoozed', 'resolved'] as const;
export type IncidentState = (typeof incidentStates)[number];

export const incidentLimits = {
  /** Alerts of one occurrence that are counted. */
  counted: 1_000,
  /** Counts of incidents stop here; times are those of this many of the newest. */
  summarized: 1_000,
} as const;
