/** Adds what the console and the command line show to occurrences. */

import { isHeldByGuard } from '../../core/decision/guards/guard.ts';
import { type OccurrenceOutcome, outcomeOf } from '../../core/decision/outcome.ts';
import { describeSilence } from '../../core/decision/silences.ts';
import { summarizeOccurrence } from '../../core/decision/summary.ts';
import { type OccurrenceState, occurrenceStateOf } from '../../core/history/states.ts';
import { findOccurrenceHolds } from '../../db/history/occurrence-holds.ts';
import { findOccurrenceWaits } from '../../db/history/occurrence-waits.ts';
import type { Occurrence } from '../../db/history/occurrences.ts';
import { findOccurrenceSilences } from '../../db/history/silences/silences.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';

export type OccurrenceSummaryRow<Row extends Occurrence = Occurrence> = Omit<Row, 'outcome'> & {
  outcome: OccurrenceOutcome;
  state: OccurrenceState;
  /** When the first of its waiting messages is due. */
  waiting_until: Date | null;
  /** What became of it, in a sentence or two. */
  summary: string;
};

/** Outcomes of occurrences that may wait for the end of a silence. */
const mayWait = new Set<OccurrenceOutcome>(['scheduled', 'expanding', 'sending', 'escalating']);

export async function addStates<Row extends Occurrence>(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  rows: readonly Row[],
): Promise<OccurrenceSummaryRow<Row>[]> {
  const now = currentTime();
  const summaries = rows.map(row => ({ ...row, outcome: outcomeOf(row, now) }));
  const thatAre = (wanted: OccurrenceOutcome) =>
    summaries.filter(({ outcome }) => outcome === wanted).map(({ identifier }) => identifier);
  const maybeSilenced = summaries.filter(({ outcome, reason }) => reason === 'silenced' || mayWait.has(outcome));
  const [waits, holds, silences] = await Promise.all([
    findOccurrenceWaits(db, organizationId, thatAre('sending')),
    findOccurrenceHolds(db, organizationId, thatAre('held')),
    findOccurrenceSilences(
      db,
      organizationId,
      maybeSilenced.map(({ identifier }) => identifier),
    ),
  ]);
  return summaries.map(row => {
    const wait = waits.get(row.identifier);
    const isSnoozed = row.snoozed_by !== null;
    const { outcome, is_dry_run: isDryRun, acknowledged_until } = row;
    const state = occurrenceStateOf({ outcome, reason: row.reason, isDryRun, isSnoozed, wait });
    const isSampled = outcome === 'expanding' && state === 'waiting';
    const waiting_until = isSampled ? row.due_at : (wait?.until ?? null);
    const until =
      outcome === 'acknowledged'
        ? acknowledged_until
        : outcome === 'scheduled' || state === 'waiting_silence'
          ? (waiting_until ?? row.due_at)
          : waiting_until;
    const hold = holds.get(row.identifier);
    const reason = isHeldByGuard(row) ? row.reason : (hold?.reason ?? row.reason);
    const silence = silences.get(row.identifier);
    const isSilenced = silence && (silence.state === 'held' || row.reason === 'silenced');
    const silence_note = isSilenced ? describeSilence(silence, silence.until) : null;
    const summary = summarizeOccurrence({ ...row, state, until, reason, silence_note, pause_note: hold?.note });
    return { ...row, state, waiting_until, summary };
  });
}
