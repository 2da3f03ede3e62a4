/** Adds what the console and the command line show to occurrences. */
import { type OccurrenceOutcome, outcomeOf } from '../../core/decision/outcome.ts';
import { summarizeOccurrence } from '../../core/decision/summary.ts';
import { type OccurrenceState, occurrenceStateOf } from '../../core/history/states.ts';
import { findOccurrenceHolds } from '../../db/history/occurrence-holds.ts';
import { findOccurrenceWaits } from '../../db/history/occurrence-waits.ts';
import type { Occurrence } from '../../db/history/occurrences.ts';
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

export async function addStates<Row extends Occurrence>(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  rows: readonly Row[],
): Promise<OccurrenceSummaryRow<Row>[]> {
  const now = currentTime();
  const summaries = rows.map(row => ({ ...row, outcome: outcomeOf(row, now) }));
  const thatAre = (wanted: OccurrenceOutcome) =>
    summaries.filter(({ outcome }) => outcome === wanted).map(({ identifier }) => identifier);
  const [waits, holds] = await Promise.all([
    findOccurrenceWaits(db, organizationId, thatAre('sending')),
    findOccurrenceHolds(db, organizationId, thatAre('held')),
  ]);
  return summaries.map(row => {
    const wait = waits.get(row.identifier);
    const state = occurrenceStateOf({ outcome: row.outcome, isDryRun: row.is_dry_run, wait });
    const waiting_until = wait?.until ?? null;
    const until = row.outcome === 'scheduled' ? row.due_at : waiting_until;
    const hold = holds.get(row.identifier);
    const reason = hold?.reason ?? row.reason;
    const summary = summarizeOccurrence({ ...row, state, until, reason, pause_note: hold?.note });
    return { ...row, state, waiting_until, summary };
  });
}
