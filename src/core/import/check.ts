/** Compares an imported schedule with the shifts that the other system has computed itself. */
import { type CompiledSchedule, listShifts } from '../oncall/schedule.ts';

export interface SourceShift {
  user: string;
  /** Instants in milliseconds. */
  from: number;
  until: number;
}

export interface Difference {
  from: number;
  until: number;
  /** Who is on call there. */
  source: string[];
  /** Who would be on call here. */
  imported: string[];
}

/** Returns each span in which not exactly the same users are on call. */
export function compareShifts(
  schedule: CompiledSchedule,
  shifts: readonly SourceShift[],
  from: number,
  until: number,
): Difference[] {
  const starts = shifts.toSorted((a, b) => a.from - b.from);
  const ends = shifts.toSorted((a, b) => a.until - b.until);
  const own = listShifts(schedule, from, until);
  const edges = [...own.map(shift => shift.from), ...shifts.flatMap(shift => [shift.from, shift.until])];
  const instants = [...new Set(edges)].filter(at => at >= from && at < until).sort((a, b) => a - b);
  const current = new Map<string, number>();
  const differences: Difference[] = [];
  let [started, ended, shown] = [0, 0, 0];
  const count = (user: string, by: number) => current.set(user, (current.get(user) ?? 0) + by);
  for (const [i, at] of instants.entries()) {
    for (; started < starts.length && starts[started]!.from <= at; started++) count(starts[started]!.user, 1);
    for (; ended < ends.length && ends[ended]!.until <= at; ended++) count(ends[ended]!.user, -1);
    while (shown + 1 < own.length && own[shown + 1]!.from <= at) shown++;
    const source = [...current].flatMap(([user, times]) => (times > 0 ? [user] : [])).sort();
    const imported = own[shown]!.users.toSorted();
    if (source.join('\n') === imported.join('\n')) continue;
    const end = instants[i + 1] ?? until;
    const last = differences.at(-1);
    const isSame = last?.until === at && `${last.source}|${last.imported}` === `${source}|${imported}`;
    if (isSame) last.until = end;
    else differences.push({ from: at, until: end, source, imported });
  }
  return differences;
}
