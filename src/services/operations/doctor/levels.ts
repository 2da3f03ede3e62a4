/** What the doctor says about service levels and watches. */
import type { Deps } from '../../deps.ts';
import { levelDays, summarizeLevels } from '../../history/levels/levels.ts';
import { summarizeWatches } from '../../history/levels/watches.ts';
import type { Check } from '../health.ts';

const maxNamed = 3;
const titles = { taken_in: 'alerts taken in', first_page: 'first page in time' } as const;

/** Returns no check if nothing was counted. A tenant's provider can be why a target is missed, so it is no fault of this installation. */
export async function checkServiceLevels(deps: Deps): Promise<Check[]> {
  const summary = await summarizeLevels(deps);
  const counted = (['taken_in', 'first_page'] as const).filter(name => summary[name].share !== null);
  if (counted.length === 0) return [];
  const missed = counted.flatMap(name => summary[name].missed);
  const parts = counted.map(name => {
    const { share, missed: organizations } = summary[name];
    const named = organizations.slice(0, maxNamed).join(', ') + (organizations.length > maxNamed ? ' and others' : '');
    return `${titles[name]} ${formatShare(share!)}${named && `, below the target of ${named}`}`;
  });
  const hint = missed.length > 0 ? '; the page Service levels of the organization shows the days' : '';
  return [{ name: 'service levels', ok: true, detail: `${levelDays[0]} days: ${parts.join('; ')}${hint}` }];
}

/** Rounds down, so that 99.96 % never reads as 100 %. */
const formatShare = (share: number) => `${Math.floor(share * 10_000) / 100}%`;

/** Returns no check if there are no watches. What is silent may have been paused on purpose. */
export async function checkWatches(deps: Deps): Promise<Check[]> {
  const states = await summarizeWatches(deps);
  const all = states.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return [];
  const bad = states.filter(({ state }) => state === 'silent' || state === 'failing');
  const parts = bad.map(({ state, count, first }) => `${count} ${state}: ${first}${count > 1 ? ' and others' : ''}`);
  const hint = bad.length > 0 ? '; the page Service levels says why' : '';
  return [
    { name: 'watches', ok: true, detail: `${[all === 1 ? '1 watch' : `${all} watches`, ...parts].join('; ')}${hint}` },
  ];
}
