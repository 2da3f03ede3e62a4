/** SQL texts for statuses and counts. */
import { endedStatuses, openStatuses, waitingStatuses } from '../../core/history/statuses.ts';

const listText = (statuses: readonly string[]) => `(${statuses.map(status => `'${status}'`).join(', ')})`;

/** The partial indexes of waiting deliveries have exactly this list: the planner uses them for no other. */
export const waitingList: string = listText(waitingStatuses);
/**
 * Return SQL text: whether a delivery waits or has a status, for rows that are found by their keys. The planner cannot use an index
 * of such deliveries for it: where nearly all have ended, it looks empty, and the whole of it would be read.
 */
export const isWaitingText = (delivery: string): string => `(${delivery}.status || '') in ${waitingList}`;
export const hasStatusText = (delivery: string, status: 'retrying' | 'sending'): string =>
  `(${delivery}.status || '') = '${status}'`;
export const openList: string = listText(openStatuses);
export const endedList: string = listText(endedStatuses);

/** Returns SQL text for the number of deliveries of an occurrence that have not ended; `occurrence` is its alias. */
export function outstandingText(occurrence: string): string {
  return [`${occurrence}.deliveries`, ...endedStatuses.map(status => `${occurrence}.${status}`)].join(' - ');
}
