/** The stages of an occurrence as its timeline shows them: what was reached, what came out of it, and what it waits for. */
import type { Delivery, Occurrence } from '../../api-types.ts';
import { occurrenceStates, sentenceOf } from '../../components/statuses.ts';
import { texts } from '../../texts/occurrences.ts';

const numbers = new Intl.NumberFormat('en');
const count = (value: number) => numbers.format(value);

/** `done`, `partly` and `failed` are results; `ended` has none; `now` is in progress; `open` is yet to come. */
export type StageState = 'done' | 'partly' | 'failed' | 'ended' | 'now' | 'open';

export interface Stage {
  name: string;
  state: StageState;
  /** When it was reached. */
  at?: string | null | undefined;
  /** What is in progress, or what it waits for. */
  note?: string | undefined;
}

export type TimelineOccurrence = Pick<
  Occurrence,
  | 'status'
  | 'outcome'
  | 'state'
  | 'reason'
  | 'counts'
  | 'created_at'
  | 'completed_at'
  | 'scheduled_for'
  | 'waiting_until'
  | 'options'
>;
export type TimelineDelivery = Pick<Delivery, 'created_at' | 'sent_at'>;

const order = ['accepted', 'expanding', 'sending', 'completed'];

/** Returns the stages. `deliveries` are those of the first page; `clock` formats a moment. */
export function stagesOf(
  occurrence: TimelineOccurrence,
  deliveries: readonly TimelineDelivery[],
  clock: (moment: string) => string,
): Stage[] {
  const { status, created_at, completed_at } = occurrence;
  const reached = order.indexOf(status);
  const due = occurrence.scheduled_for ?? (occurrence.options.send_at as string | undefined);
  const stage = (nth: number): StageState => (reached > nth ? 'done' : reached === nth ? 'now' : 'open');
  return [
    { name: texts.accepted, at: created_at, state: due ? 'done' : reached === 0 ? 'now' : 'done' },
    ...(due ? [{ name: texts.scheduled, at: due, state: stage(0), note: clock(due) }] : []),
    {
      ...resolvedStage(occurrence, deliveries),
      ...(reached < 2 && { state: stage(1), ...(reached === 1 && { note: waitNote(occurrence, clock) }) }),
    },
    reached < 3
      ? { name: texts.messagesSent, state: stage(2), note: waitNote(occurrence, clock) }
      : sentStage(occurrence, deliveries),
    { name: texts.completed, at: completed_at, state: reached === 3 ? 'ended' : 'open' },
  ];
}

function resolvedStage({ counts, reason }: TimelineOccurrence, deliveries: readonly TimelineDelivery[]): Stage {
  const at = deliveries.map(one => one.created_at).sort()[0];
  if (reason === 'crashed') return { name: texts.recipientsNotResolved, at, state: 'failed' };
  const hasRecipients = Object.values(counts).some(number => number > 0);
  return { name: texts.recipientsResolved, at, state: hasRecipients ? 'done' : 'ended' };
}

/** Returns what became of the messages. Deliberately suppressed ones do not count. */
function sentStage({ counts, outcome }: TimelineOccurrence, deliveries: readonly TimelineDelivery[]): Stage {
  const { sent, failed, unknown, cancelled, expired } = counts;
  const wanted = sent + failed + unknown + cancelled + expired;
  const at = deliveries
    .flatMap(one => one.sent_at ?? [])
    .sort()
    .at(-1);
  if (sent > 0 && sent === wanted) return { name: texts.messagesSent, at, state: 'done' };
  const sentOf = texts.sentOf(count(sent), count(wanted));
  const name = wanted === 0 ? texts.noneSent : unknown > 0 ? texts.mayHaveArrived(sentOf, count(unknown)) : sentOf;
  if (sent + unknown > 0) return { name, at, state: 'partly' };
  return { name, state: failed > 0 || outcome === 'failed' ? 'failed' : 'ended' };
}

/** Explains why an occurrence that has not ended has no deliveries yet. */
export function explainEmpty(outcome: Occurrence['outcome']): string {
  if (outcome === 'scheduled') return texts.resolvedWhenDue;
  return outcome === 'held' ? texts.heldByPause : texts.resolvingRecipients;
}

/** Returns what the messages wait for; undefined if they are being sent. */
function waitNote(occurrence: TimelineOccurrence, clock: (moment: string) => string): string | undefined {
  const { state, outcome, reason, waiting_until: until } = occurrence;
  const found = occurrenceStates[state];
  if (!found || (state === outcome && state !== 'held')) return undefined;
  return sentenceOf(found, { reason, until }, clock).replace(/\.$/, '');
}
