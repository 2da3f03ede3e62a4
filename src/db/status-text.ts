/** SQL texts of what statuses and counts mean, each in one place. */
import { endedStatuses, openStatuses, waitingStatuses } from '../core/statuses.ts';

const listText = (statuses: readonly string[]) => `(${statuses.map(status => `'${status}'`).join(', ')})`;

/** Deliveries that wait are found by partial indexes, which the planner takes for this very list. */
export const waitingList: string = listText(waitingStatuses);
export const openList: string = listText(openStatuses);
export const endedList: string = listText(endedStatuses);

/** How many deliveries of an occurrence, by that name in the statement, have not ended. */
export function outstandingText(occurrence: string): string {
  return [`${occurrence}.deliveries`, ...endedStatuses.map(status => `${occurrence}.${status}`)].join(' - ');
}
