/**
 * Fetches calendars of users regularly. Every worker does so; the database gives each calendar to one of them. Organizations take turns,
 * and slow servers occupy only the slots of their organization.
 */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../../../core/errors.ts';
import { calendarPauses, secondsAfterFailures } from '../../../../core/oncall/calendars/calendar.ts';
import * as rows from '../../../../db/audience/on-call/absence-calendars.ts';
import { ClaimLoop } from '../../../../lib/process/claim-loop.ts';
import type { Deps } from '../../../deps.ts';
import { storeContent } from './calendars.ts';
import { CalendarBusyError, CalendarError, type FetchDeps, fetchCalendar } from './fetch.ts';
import { openCalendar } from './secrets.ts';

const everyMs = 10_000;
/** Longer than waiting for a slot, fetching and reading take. */
const claimedSeconds = 300;
const busySeconds = 60;
const maxFetching = { all: 4, group: 2 };

type PollDeps = FetchDeps & Pick<Deps, 'db' | 'cipher'>;
type Log = Pick<FastifyBaseLogger, 'warn' | 'info'>;

export function pollCalendars(deps: PollDeps, log: Log, isPaused: () => boolean): ClaimLoop<rows.ClaimedCalendar> {
  const { readAgain } = calendarPauses;
  return new ClaimLoop(
    {
      max: maxFetching,
      isPaused,
      claim: turn => rows.claimCalendarAcrossTenants(deps.db, { seconds: claimedSeconds, ...turn, readAgain }),
      groupOf: calendar => calendar.organization_id,
      process: calendar =>
        poll(deps, log, calendar)
          // The claim ends, and then the calendar is fetched again.
          .catch(error => log.warn({ err: error, calendar: calendar.id }, 'storing a calendar failed; trying again')),
    },
    { log, task: 'looking for calendars to fetch', everyMs },
  );
}

async function poll(deps: PollDeps, log: Log, calendar: rows.ClaimedCalendar): Promise<void> {
  const { db, cipher } = deps;
  const { organization_id: organizationId, id, host, words, timezone, etag, last_modified } = calendar;
  const about = { organization: organizationId, calendar: id, host };
  try {
    const url = openCalendar(cipher, organizationId, calendar);
    const content = await fetchCalendar(deps, { organizationId, url, words, timezone, etag, last_modified });
    await db.transaction().execute(async trx => {
      if (!(await rows.lockCalendar(trx, organizationId, calendar))) return;
      if (content) await storeContent(trx, organizationId, calendar, content);
      else await rows.settleFetched(trx, organizationId, id, undefined, calendarPauses.again);
    });
    if (calendar.error !== null) log.info(about, 'a calendar of a user can be fetched again');
  } catch (error) {
    if (error instanceof CalendarBusyError) return rows.postponeCalendar(db, organizationId, calendar, busySeconds);
    if (!(error instanceof CalendarError || error instanceof AppError)) throw error;
    const { message } = error;
    if (calendar.error !== message) log.warn(about, `a calendar of a user cannot be fetched: ${message}`);
    const seconds = secondsAfterFailures(calendar.failures + 1);
    await rows.settleFailed(db, organizationId, calendar, { error: message, seconds });
  }
}
