/** Statistics of an application's events: triggers by hour, failures, and the last trigger. */
import { listRows } from '../../../db/configuration/rows.ts';
import * as stats from '../../../db/history/stats/event-stats.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';

const hourMs = 3_600_000;
export const shownHours = 24;
/** Events per response. */
export const maxEventsShown = 1_000;

export async function describeEvents({ db }: Deps, organizationId: number, applicationId: number) {
  const page = { after: 0, limit: maxEventsShown };
  const events = await listRows(db, organizationId, 'event', { parent: applicationId, page });
  const ids = events.map(({ id }) => id);
  const from = new Date((Math.floor(currentTime() / hourMs) - shownHours + 1) * hourMs);
  const [hours, failures] = await Promise.all([
    stats.listTriggerHours(db, organizationId, ids, from),
    stats.countFailuresByEvent(db, organizationId, ids, from),
  ]);
  const hoursOf = Map.groupBy(hours, ({ event_id }) => event_id);
  const failuresOf = new Map(failures.map(one => [one.event_id, one]));
  const silent = ids.filter(id => !hoursOf.has(id));
  const days = silent.length > 0 ? await stats.findLastTriggerDays(db, organizationId, silent) : [];
  const dayOf = new Map(days.map(one => [one.event_id, one.day]));
  return events.map(({ id, slug }) => {
    const triggers = Array<number>(shownHours).fill(0);
    let last = 0;
    for (const one of hoursOf.get(id) ?? []) {
      last = Math.max(last, one.hour.getTime());
      const position = (one.hour.getTime() - from.getTime()) / hourMs;
      if (position >= 0 && position < shownHours) triggers[position] = one.triggers;
    }
    const last_triggered_at = last > 0 ? new Date(last) : (dayOf.get(id) ?? null);
    const { failures = 0, unknown = 0 } = failuresOf.get(id) ?? {};
    return { event: slug, triggers, failures, unknown, last_triggered_at };
  });
}
