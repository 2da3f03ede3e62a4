/** SQL texts for statuses and counts. */
import { endedStatuses, openStatuses, waitingStatuses } from '../../core/history/statuses.ts';

const listText = (statuses: readonly string[]) => `(${statuses.map(status => `'${status}'`).join(', ')})`;

/** The partial indexes of waiting deliveries have exactly this list: the planner uses them for no other. */
export const waitingList: string = listText(waitingStatuses);
export const openList: string = listText(openStatuses);
export const endedList: string = listText(endedStatuses);

/** Returns SQL text for the number of deliveries of an occurrence that have not ended; `occurrence` is its alias. */
export function outstandingText(occurrence: string): string {
  return [`${occurrence}.deliveries`, ...endedStatuses.map(status => `${occurrence}.${status}`)].join(' - ');
}
