/** Checks whether someone is on call, and would be reached. */

import { userGroupLimits } from '../../../core/audience/user-groups.ts';
import { listFailingCalendarsAcrossTenants } from '../../../db/audience/on-call/absence-calendars.ts';
import { summarizeGroupsAcrossTenants } from '../../../db/audience/on-call/groups.ts';
import { listOrganizationsOnCallAcrossTenants } from '../../../db/audience/on-call/readiness.ts';
import { countOf } from '../../../lib/count-of.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { listGaps } from '../../audience/on-call/gaps.ts';
import type { Deps } from '../../deps.ts';
import type { Check } from '../health.ts';

/** More lines would bury the other checks. */
const maxShown = 10;
const maxOrganizations = 1_000;

/** Returns no check without schedules. A gap is not a fault of this installation, and a warning. */
export async function checkOnCall(deps: Deps): Promise<Check[]> {
  const organizations = await listOrganizationsOnCallAcrossTenants(deps.db);
  if (organizations.length === 0) return [];
  let schedules = 0;
  const warnings: string[] = [];
  for (const { id, slug } of organizations.slice(0, maxOrganizations)) {
    const found = await listGaps(deps, id, { visible: 'all' });
    schedules += found.schedules;
    for (const { project, schedule, user, message, advice, from, until } of found.gaps) {
      const span = user === null ? `${isoMinute(from)} to ${isoMinute(until)}` : `on call from ${isoMinute(from)}`;
      const who = user === null ? '' : `${user} `;
      warnings.push(`warning: ${slug}/${project}/${schedule}: ${who}${message}, ${span}: ${advice}`);
    }
  }
  const gaps = warnings.length === 0 ? 'without gaps' : `with ${countOf(warnings.length, 'gap')}`;
  const more = warnings.length - maxShown;
  return [
    `${countOf(schedules, 'schedule')} ${gaps} within a week`,
    ...warnings.slice(0, maxShown),
    ...(more > 0 ? [`… and ${more} more: belfry on-call ORG --gaps`] : []),
  ].map(detail => ({ name: 'on call', ok: true, detail }));
}

/** A server may be down for a while. */
const maxFailingMs = 86_400_000;

/** Names calendars of users that could not be fetched for a day: absences in them are unknown. Returns no check without one. */
export async function checkCalendars({ db }: Pick<Deps, 'db'>): Promise<Check[]> {
  const since = new Date(currentTime() - maxFailingMs);
  const failing = await listFailingCalendarsAcrossTenants(db, since, maxShown + 1);
  return failing
    .map(({ organization, user, host, error, failing_since }, i) =>
      i === maxShown
        ? '… and more'
        : `warning: ${organization}/${user}: the calendar on ${host} cannot be fetched since ${isoMinute(failing_since)}: ${error}`,
    )
    .map(detail => ({ name: 'absences', ok: true, detail }));
}

/** Returns no check if no group follows a schedule. That a chat refuses one is not a fault of this installation, and a warning. */
export async function checkUserGroups({ db }: Pick<Deps, 'db'>): Promise<Check[]> {
  const { failingMinutes } = userGroupLimits;
  const { all, failing, first } = await summarizeGroupsAcrossTenants(db, failingMinutes, maxShown);
  if (all === 0) return [];
  const warnings = first.map(({ organization, project, schedule, channel, group_id, error, failing_since }) => {
    const where = `${organization}/${project}/${schedule}: the group ${group_id} in ${channel}`;
    return `warning: ${where} does not have the users on call since ${isoMinute(failing_since)}: ${error}`;
  });
  const trouble = failing === 0 ? '' : `, ${failing} failing for more than ${failingMinutes} minutes`;
  const more = failing - first.length;
  return [
    `${countOf(all, 'group')} ${all === 1 ? 'follows' : 'follow'} a schedule${trouble}`,
    ...warnings,
    ...(more > 0 ? [`… and ${more} more`] : []),
  ].map(detail => ({ name: 'user groups', ok: true, detail }));
}

const isoMinute = (time: Date) => `${time.toISOString().slice(0, 16)}Z`;
