/** How an organization's service levels are doing. */
import {
  type Level,
  levelOf,
  type ServiceLevels,
  type Targets,
  targetsOf,
} from '../../../core/history/service-levels.ts';
import { getOrganization } from '../../../db/configuration/organizations.ts';
import { type DayCounts, listDayCounts, listLevelSumsAcrossTenants } from '../../../db/history/levels/counts.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';

export const levelDays = [30, 90] as const;
const dayMs = 86_400_000;

type Counts = Omit<DayCounts, 'day'>;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

const none: Counts = { taken: 0, failed: 0, refused: 0, pages_in_time: 0, pages_late: 0 };

const takenIn = ({ taken, failed }: Counts, { taken_in }: Targets) => levelOf(taken + failed, failed, taken_in);
const firstPage = ({ pages_in_time, pages_late }: Counts, { first_page }: Targets) =>
  levelOf(pages_in_time + pages_late, pages_late, first_page.share);

/** Returns the levels of the last days with today, in UTC. Days without anything are included. */
export async function readServiceLevels({ db }: Pick<Deps, 'db'>, organizationId: number, days: number) {
  const counted = new Map((await listDayCounts(db, organizationId, days)).map(row => [dayOf(row.day.getTime()), row]));
  const organization = await getOrganization(db, organizationId);
  const targets = targetsOf((organization?.service_levels ?? null) as ServiceLevels | null);
  const today = currentTime();
  const byDay = Array.from({ length: days }, (_, i) => {
    const day = dayOf(today - (days - 1 - i) * dayMs);
    return { ...none, ...counted.get(day), day };
  });
  const sum = byDay.reduce<Counts>(
    (all, one) =>
      Object.fromEntries(
        Object.keys(none).map(key => [key, all[key as keyof Counts] + one[key as keyof Counts]]),
      ) as unknown as Counts,
    none,
  );
  return {
    taken_in: { target: targets.taken_in, refused: sum.refused, ...takenIn(sum, targets) },
    first_page: { target: targets.first_page.share, within: targets.first_page.within, ...firstPage(sum, targets) },
    days: byDay,
  };
}

export interface LevelSummary {
  /** Of all organizations together. */
  share: number | null;
  /** Organizations that miss their target. */
  missed: string[];
}

/** Returns how the whole installation did in the last 30 days. */
export async function summarizeLevels({
  db,
}: Pick<Deps, 'db'>): Promise<Record<'taken_in' | 'first_page', LevelSummary>> {
  const rows = await listLevelSumsAcrossTenants(db, levelDays[0]);
  const summarize = (judge: (counts: Counts, targets: Targets) => Level): LevelSummary => {
    const levels = rows.map(row => ({
      organization: row.organization,
      ...judge(row, targetsOf(row.service_levels as ServiceLevels | null)),
    }));
    const total = levels.reduce((all, one) => all + one.total, 0);
    const missed = levels.reduce((all, one) => all + one.missed, 0);
    return {
      share: total === 0 ? null : (total - missed) / total,
      missed: levels.filter(one => !one.is_met).map(one => one.organization),
    };
  };
  return { taken_in: summarize(takenIn), first_page: summarize(firstPage) };
}
