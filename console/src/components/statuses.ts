/** States of deliveries and occurrences. The API names the state; its label, color and sentence come from one table of the service. */
import {
  channelStates,
  deliveryStates,
  occurrenceStates,
  type operations,
  reasons,
  refinedStates,
  type State,
} from '../api-types.ts';

export { channelStates, deliveryStates, occurrenceStates, type State };

/** Order of statuses in bars and legends, and their fill color: shades tell gray ones apart. */
const fills: Record<string, string> = {
  sent: 'teal.7',
  sending: 'blue.5',
  pending: 'gray.4',
  retrying: 'yellow.5',
  failed: 'red.7',
  unknown: 'orange.5',
  suppressed: 'gray.5',
  cancelled: 'gray.6',
  expired: 'gray.7',
};
export const statusOrder: string[] = Object.keys(fills);

/** The choices of a filter by status: each status, and the states that refine one. */
export const statusFilters: { value: string; label: string }[] = [...statusOrder, ...refinedStates].map(value => ({
  value,
  label: deliveryStates[value]!.name,
}));

/** Returns the query for a choice of `statusFilters`. */
export function filterByStatus(value: string | undefined): StatusQuery {
  if (!value) return {};
  return { [refinedStates.includes(value) ? 'state' : 'status']: value } as StatusQuery;
}

type StatusQuery = Pick<NonNullable<operations['listActivity']['parameters']['query']>, 'status' | 'state'>;

/** Returns a color of the palette with its shade. */
export function fillOf(status: string): string {
  return fills[status] ?? 'gray.5';
}

/** Returns the CSS color of a state's dot. */
export function dotColor({ color }: Pick<State, 'color'>): string {
  return `light-dark(var(--mantine-color-${color}-7), var(--mantine-color-${color}-4))`;
}

/** Returns the text of a reason code as a sentence without a full stop. */
export function reasonText(reason: string): string {
  return capitalize(reasons[reason] ?? reason);
}

interface StateFacts {
  reason?: string | null;
  /** Until when it waits. */
  until?: string | null;
  /** When its retries end. */
  end?: string | null;
}

/** Returns the sentence of a state. `clock` formats a moment. */
export function sentenceOf(
  state: State,
  { reason, until, end }: StateFacts,
  clock: (moment: string) => string,
): string {
  if (until && state.until) {
    const sentence = state.until.replace('{time}', clock(until));
    return end && state.end ? `${sentence} ${state.end.replace('{time}', clock(end))}` : sentence;
  }
  return reason ? `${reasonText(reason)}.` : state.meaning;
}

/** Returns a sentence of the service with its times, which are in UTC, formatted by `clock`. */
export function withTimes(sentence: string, clock: (moment: string) => string): string {
  return sentence.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, moment => clock(moment));
}

/** Returns the style of a state that is not in the table, which a newer service may send. */
export function plainState(name: string): State {
  return { name: capitalize(name), color: 'gray', meaning: '' };
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
