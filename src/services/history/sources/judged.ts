/** What is known of the alerts of a payload while it is judged. */
import type { RoutedAlert } from '../../../core/sources/mapping.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import type { StoredAlert } from '../../../db/history/sources/alerts.ts';
import type { AlertResult } from '../../../db/history/sources/payloads.ts';

export interface Judged {
  result: AlertResult;
  alert?: RoutedAlert;
  path?: Required<ResolvedPath>;
  /** Size of its trigger. */
  bytes: number;
  stored?: StoredAlert | undefined;
  /** Whether no trigger has counted it in its occurrence. */
  isUncounted?: boolean;
  /** Whether it may be more serious than its occurrence was so far. */
  mayRaise?: boolean;
}

/**
 * Whether the alert is resolved and its occurrence is not: other alerts of it are open, or a process died between the two.
 */
export function isLeftOpen({ alert, stored }: Judged): boolean {
  return alert?.state === 'resolved' && stored?.state === 'resolved' && stored.is_open;
}
