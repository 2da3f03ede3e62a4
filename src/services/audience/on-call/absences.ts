/** Absences of users. They are data: a file neither has nor changes them. */
import { AppError, throwIfInvalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { absenceLimits, findAbsenceMistakes, type NewAbsence } from '../../../core/oncall/absences.ts';
import {
  type AbsenceRow,
  countAbsences,
  deleteAbsence as deleteRow,
  findAbsence,
  listAbsences,
} from '../../../db/audience/on-call/absences.ts';
import { insert } from '../../../db/connection/insert.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';

interface UserOfOrganization {
  organization: { id: number };
  user: { id: number; username: string };
}

export async function createAbsence(
  deps: Deps,
  { organization, user }: UserOfOrganization,
  input: NewAbsence,
): Promise<AbsenceRow> {
  throwIfInvalid(findAbsenceMistakes(input, currentTime()));
  return deps.db.transaction().execute(async trx => {
    const { all, open } = await countAbsences(trx, organization.id, user.id);
    if (open >= absenceLimits.open || all >= absenceLimits.all) {
      const advice = `at most ${absenceLimits.open} that are not over, and ${absenceLimits.all} in all`;
      throw new AppError('absence.limit', `${advice}: delete some that are no longer needed`);
    }
    const id = await insert(trx, organization.id, 'absences', {
      user_id: user.id,
      starts_at: new Date(input.starts_at),
      ends_at: new Date(input.ends_at),
      reason: input.reason?.trim() || null,
      created_by: actorName(deps.actor),
    });
    const added = (await findAbsence(trx, organization.id, user.id, id))!;
    const path = `${user.username}/${id}`;
    await record(deps, trx, organization.id, { action: 'create', noun: 'absence', path, after: toAudit(added) });
    return added;
  });
}

export async function getAbsence(
  { db }: Pick<Deps, 'db'>,
  { organization, user }: UserOfOrganization,
  id: number,
): Promise<AbsenceRow> {
  const found = await findAbsence(db, organization.id, user.id, id);
  if (!found) throw new AppError('absence.not_found', `${user.username} has no absence ${id}`);
  return found;
}

export async function deleteAbsence(
  deps: Deps,
  { organization, user }: UserOfOrganization,
  id: number,
  dryRun: boolean,
  check: (current: AbsenceRow) => void,
): Promise<{ absences: number }> {
  const deleted = { absences: 1 };
  return deps.db.transaction().execute(async trx => {
    const absence = await getAbsence({ db: trx }, { organization, user }, id);
    check(absence);
    if (absence.calendar !== null) throw fromCalendar(absence);
    if (dryRun || (await deleteRow(trx, organization.id, user.id, id)) === 0) return deleted;
    const path = `${user.username}/${id}`;
    await record(deps, trx, organization.id, { action: 'delete', noun: 'absence', path, before: toAudit(absence) });
    return deleted;
  });
}

function fromCalendar({ created_by, calendar }: AbsenceRow): AppError {
  const advice = 'change the event there, or delete the calendar with its absences';
  return new AppError('absence.from_calendar', `it comes from the ${created_by} (id ${calendar}): ${advice}`);
}

const toAudit = ({ starts_at, ends_at, reason }: AbsenceRow) => ({
  starts_at: starts_at.toISOString(),
  ends_at: ends_at.toISOString(),
  ...(reason && { reason }),
});

export interface Collision {
  username: string;
  from: Date;
  until: Date;
  reason: string | null;
}

/** Returns a function that finds the absences of users within a time. Callers who see no users see no absences. */
export async function findCollisionsOf(
  db: Deps['db'],
  organizationId: number,
  usernames: readonly string[],
  from: Date,
  until: Date,
  visible: VisibleUsers,
): Promise<(usernames: readonly string[], from: number, until: number) => Collision[]> {
  const seen = visible === 'none' ? [] : [...new Set(usernames)];
  const absences = await listAbsences(db, organizationId, seen, from, until);
  const byUser = Map.groupBy(absences, ({ user }) => user);
  return (users, begin, end) =>
    users
      .flatMap(user => byUser.get(user) ?? [])
      .filter(({ starts_at, ends_at }) => starts_at.getTime() < end && ends_at.getTime() > begin)
      .map(({ user, starts_at, ends_at, reason }) => ({ username: user, from: starts_at, until: ends_at, reason }));
}
