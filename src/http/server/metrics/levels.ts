/** Metrics of the service levels and watches of the whole installation. The database is queried at most once a minute. */
import type { Registry } from 'prom-client';
import { callResults, watchStates } from '../../../core/history/service-levels.ts';
import type { Deps } from '../../../services/deps.ts';
import { summarizeLevels } from '../../../services/history/levels/levels.ts';
import { summarizeWatches } from '../../../services/history/levels/watches.ts';
import { readings } from './readings.ts';

const levelsFreshMs = 60_000;
const watchesFreshMs = 5_000;

export function registerLevels(registry: Registry, deps: Deps): void {
  const { gauge, counter } = readings(registry);
  const levels = cached(levelsFreshMs, () => summarizeLevels(deps));
  const watches = cached(watchesFreshMs, () => summarizeWatches(deps));
  const names = ['taken_in', 'first_page'] as const;
  counter(
    'belfry_source_calls_total',
    'Calls of senders of alerts: taken, failed for a reason of Belfry’s own, or refused for their content.',
    ['result'],
    () => callResults.map(result => [{ result }, deps.calls.totals[result]] as const),
  );
  gauge(
    'belfry_service_level_ratio',
    'Share of calls that were taken in, and of first pages in time, in the last 30 days.',
    ['level'],
    async () => {
      const summary = await levels();
      return names.map(level => [{ level }, summary?.[level].share ?? undefined] as const);
    },
  );
  gauge(
    'belfry_service_levels_missed',
    'Organizations that are below the target of the level in the last 30 days.',
    ['level'],
    async () => {
      const summary = await levels();
      return names.map(level => [{ level }, summary?.[level].missed.length] as const);
    },
  );
  gauge(
    'belfry_watches',
    'Watches, which rehearse an event and call an outside URL, by state.',
    ['state'],
    async () => {
      const counts = await watches();
      return watchStates.map(
        state => [{ state }, counts && (counts.find(one => one.state === state)?.count ?? 0)] as const,
      );
    },
  );
}

/** While the database is unreachable, the value is undefined; other checks report that. */
function cached<T>(freshMs: number, read: () => Promise<T>): () => Promise<T | undefined> {
  let reading: Promise<T | undefined> | undefined;
  let readAt = 0;
  return () => {
    if (!reading || performance.now() - readAt > freshMs) {
      readAt = performance.now();
      reading = read().catch(() => {
        reading = undefined;
        return undefined;
      });
    }
    return reading;
  };
}
