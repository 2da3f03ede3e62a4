/**
 * Says what became of an occurrence in a sentence or two. The API, webhooks, the console, the command line and "why?" all show this
 * text, so that none of them claims more than the counts do.
 */
import { type OccurrenceState, occurrenceStates } from '../history/states.ts';
import { explainPause, explainReason } from './explain.ts';
import { isGuarded } from './guards/guard.ts';

/** What is said about a number of messages, after "the message", "all messages" or a number. */
const phrases = {
  sent: ['was sent', 'were sent'],
  unknown: ['may have arrived', 'may have arrived'],
  failed: ['failed', 'failed'],
  suppressed: ['was suppressed', 'were suppressed'],
  cancelled: ['was cancelled', 'were cancelled'],
  expired: ['expired', 'expired'],
  pending: ['is pending', 'are pending'],
} as const satisfies Record<string, readonly [one: string, many: string]>;

/** Messages by what became of them; `pending` has not ended. */
export type SummaryCounts = Partial<Record<keyof typeof phrases, number>>;

export interface SummaryFacts {
  state: OccurrenceState;
  counts: SummaryCounts;
  /** Why nothing was sent, or why it stopped before all recipients were reached. */
  reason?: string | null;
  /** What the person who paused it gave as the reason. */
  pause_note?: string | null;
  /** The silence that holds it or its next step, or that suppressed it: by whom, until when, and why. */
  silence_note?: string | null;
  /** Messages that were never prepared, because it stopped before all recipients were reached. Null: not known, or not yet. */
  unexpanded?: number | null;
  /** Until when it waits. */
  until?: Date | null;
  cancelled_by?: string | null;
  acknowledged_by?: string | null;
  snoozed_by?: string | null;
  resolved_by?: string | null;
}

export function summarizeOccurrence(facts: SummaryFacts): string {
  const total = Object.values(facts.counts).reduce((sum, count) => sum + count, 0);
  return [leadOf(facts), tallyOf(facts, total), stopOf(facts, total), silenceOf(facts), unexpandedOf(facts, total)]
    .filter(Boolean)
    .join(' ');
}

/** Returns what the counts do not say: who ended it, or what it waits for. */
function leadOf({ state, reason, pause_note, until, ...by }: SummaryFacts): string {
  switch (state) {
    case 'sent':
    case 'partly_failed':
    case 'failed':
    case 'unknown':
    case 'suppressed':
    case 'expired':
      return '';
    case 'cancelled':
      return `${byWhom(reason === 'guard.rejected' ? 'Rejected' : 'Cancelled', by.cancelled_by)}.`;
    case 'acknowledged':
      return `${byWhom('Acknowledged', by.acknowledged_by)}.${until ? ` Escalates again at ${until.toISOString()}.` : ''}`;
    case 'snoozed':
      return `${byWhom('Snoozed', by.snoozed_by)}${until ? ` until ${until.toISOString()}` : ''}.`;
    case 'resolved':
      return `${byWhom('Resolved', by.resolved_by)}.`;
    case 'no_recipients':
      return `No messages: ${explainReason(reason ?? 'no_recipients')}.`;
    case 'dry_run':
      return occurrenceStates.dry_run.meaning;
    case 'held':
      if (isGuarded(reason ?? null)) return `Held until someone approves it: ${explainReason(reason!)}.`;
      return `Held, and sent when the pause ends${reason ? `: ${explainPause(reason, pause_note)}` : ''}.`;
    case 'waiting':
      if (reason === 'canary.waiting' && until) return `The others wait for the canary until ${until.toISOString()}.`;
      return waitingOf(state, until);
    default:
      return waitingOf(state, until);
  }
}

function waitingOf(state: OccurrenceState, until: Date | null | undefined): string {
  const { meaning, until: template } = occurrenceStates[state];
  return until && template ? template.replace('{time}', until.toISOString()) : meaning;
}

const byWhom = (verb: string, name: string | null | undefined) => (name ? `${verb} by ${name}` : verb);

/** States whose lead says all there is to say about pending messages. */
const waiting = new Set<OccurrenceState>([
  ...(['scheduled', 'expanding', 'sending', 'held', 'retrying'] as const),
  ...(['waiting', 'waiting_digest', 'waiting_quiet_hours', 'waiting_silence'] as const),
]);

/** Says how many messages there are of each kind. The numbers add up to all messages. */
function tallyOf({ state, counts, reason }: SummaryFacts, total: number): string {
  if (state === 'dry_run') return '';
  const present = Object.entries(phrases).flatMap(([status, phrase]) => {
    const count = counts[status as keyof typeof phrases] ?? 0;
    return count > 0 ? [{ status, phrase, count }] : [];
  });
  const [first] = present;
  if (!first) return emptyOf(state, reason);
  if (present.length > 1) {
    const parts = present.map(({ phrase, count }) => `${format(count)} ${phrase[count === 1 ? 0 : 1]}`);
    return `Of ${format(total)} messages, ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}.`;
  }
  if (first.status === 'pending' && waiting.has(state)) return '';
  const [one, many] = first.phrase;
  const lost = first.status === 'unknown' ? ': the response of the provider was lost' : '';
  return `${total === 1 ? `The message ${one}` : `All ${format(total)} messages ${many}`}${lost}.`;
}

/** Says why there is no message at all, where the lead does not. */
function emptyOf(state: OccurrenceState, reason: string | null | undefined): string {
  if (reason === 'guard.rejected') return `No messages: ${explainReason(reason)}.`;
  if (state === 'cancelled' || state === 'expired') {
    return `${state === 'expired' ? 'Expired. ' : ''}There were no messages yet.`;
  }
  if (state === 'failed' || state === 'suppressed') return `No messages: ${explainReason(reason ?? null)}.`;
  return '';
}

/** Reasons that the lead or the tally already gives. */
const known = new Set(['cancelled', 'acknowledged', 'resolved', 'no_recipients', 'occurrence.not_open']);

/** Says why it stopped before all recipients were reached. */
function stopOf({ state, reason }: SummaryFacts, total: number): string {
  if (
    !reason ||
    total === 0 ||
    known.has(reason) ||
    waiting.has(state) ||
    state === 'no_recipients' ||
    state === 'dry_run'
  )
    return '';
  if (reason === 'expired') return 'It expired before all recipients were resolved.';
  return `${capitalize(explainReason(reason))}.`;
}

function silenceOf({ silence_note }: SummaryFacts): string {
  return silence_note ? `Silenced ${silence_note}.` : '';
}

/** Says how many messages there would have been besides those on record. */
function unexpandedOf({ unexpanded = 0 }: SummaryFacts, total: number): string {
  if (!unexpanded) return '';
  const more = total > 0 ? ' more' : '';
  return unexpanded === 1
    ? `1${more} message was not prepared.`
    : `${format(unexpanded)}${more} messages were not prepared.`;
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const numbers = new Intl.NumberFormat('en');
const format = (count: number) => numbers.format(count);
