/** Overrides: someone takes, gives or covers a shift. They are data: a file neither has nor changes them. */
import { parseDuration } from '../../../core/durations.ts';
import { AppError, invalid, throwIfInvalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import {
  findOverrideMistakes,
  type NewOverride,
  type OverrideState,
  overrideLimits,
  overrideStateOf,
} from '../../../core/oncall/overrides.ts';
import { fold } from '../../../core/text/text.ts';
import {
  countOverrides,
  endOverride,
  findOverride,
  listOverrides as listRows,
  type OverrideRow,
} from '../../../db/audience/on-call/overrides.ts';
import { findUserIds } from '../../../db/audience/users.ts';
import { insert } from '../../../db/connection/insert.ts';
import type { PageRequest } from '../../../db/connection/page.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { changeCached } from '../../operations/transaction.ts';

export type OverrideView = ReturnType<typeof showOverride>;

/** The schedule of a path. */
export interface ScheduleOfProject {
  organization: { id: number };
  project: { slug: string };
  schedule: { id: number; slug: string };
}

export const showOverride = (row: OverrideRow) => ({ ...row, state: overrideStateOf(row, currentTime()) });

export async function listOverrides(
  { db }: Pick<Deps, 'db'>,
  { organization, schedule }: ScheduleOfProject,
  filter: { state?: OverrideState | undefined },
  page: PageRequest,
): Promise<OverrideView[]> {
  return (await listRows(db, organization.id, schedule.id, { ...filter, page })).map(showOverride);
}

export async function getOverride(
  { db }: Pick<Deps, 'db'>,
  { organization, schedule }: ScheduleOfProject,
  id: number,
): Promise<OverrideRow> {
  const found = await findOverride(db, organization.id, schedule.id, id);
  if (!found) throw new AppError('override.not_found', `the schedule ${schedule.slug} has no override ${id}`);
  return found;
}

/** Creates an override. It beats all layers, and overrides that were created earlier, from its start until its end. */
export async function createOverride(deps: Deps, at: ScheduleOfProject, input: NewOverride): Promise<OverrideView> {
  return changeCached(deps, at.organization.id, trx => storeOverride(deps, trx, at, input));
}

/** The same within a transaction. */
export async function storeOverride(
  deps: Deps,
  trx: Db,
  { organization, project, schedule }: ScheduleOfProject,
  input: NewOverride,
): Promise<OverrideView> {
  const { user, replaces = null, reason } = input;
  const times = readTimes(input);
  const { all, open } = await countOverrides(trx, organization.id, schedule.id);
  if (open >= overrideLimits.open) {
    const advice = 'end some that are no longer needed';
    throw new AppError('override.limit', `at most ${overrideLimits.open} overrides of a schedule: ${advice}`);
  }
  if (all >= overrideLimits.all) {
    const kept = `those that are over are kept for ${overrideLimits.keptDays} days`;
    throw new AppError('override.limit', `at most ${overrideLimits.all} overrides of a schedule: ${kept}`);
  }
  const ids = await findUserIds(
    trx,
    organization.id,
    [user, replaces].flatMap(name => (name === null ? [] : fold(name))),
  );
  const find = (field: string, name: string): number => {
    const id = ids.get(fold(name));
    if (id === undefined) throw invalid({ [field]: [`there is no user ${JSON.stringify(name)}`] });
    return id;
  };
  const replaced = replaces === null ? null : find('replaces', replaces);
  const own = find('user', user);
  if (own === replaced) throw invalid({ replaces: ['must be someone else than user'] });
  const id = await insert(trx, organization.id, 'schedule_overrides', {
    schedule_id: schedule.id,
    user_id: own,
    replaces: replaces === null ? null : fold(replaces),
    ...times,
    reason: reason?.trim() || null,
    created_by: actorName(deps.actor),
  });
  const added = showOverride((await findOverride(trx, organization.id, schedule.id, id))!);
  const path = `${project.slug}/${schedule.slug}/${id}`;
  await record(deps, trx, organization.id, { action: 'create', noun: 'override', path, after: toAudit(added) });
  return added;
}

function readTimes({ starts_at, ends_at, duration }: NewOverride) {
  if ((ends_at === undefined) === (duration === undefined))
    throw invalid({ ends_at: ['is required, or duration instead: an override is never endless'] });
  const now = currentTime();
  const given = starts_at === undefined ? now : new Date(starts_at).getTime();
  // What was is not changed.
  const start = Math.max(now, given);
  const end = ends_at === undefined ? start + parseDuration(duration!)! : new Date(ends_at).getTime();
  const times = { starts_at: new Date(start), ends_at: new Date(end) };
  const { ends_at: mistake, ...mistakes } = findOverrideMistakes({ ...times, starts_at: new Date(given) }, now);
  if (mistake) Object.assign(mistakes, { [ends_at === undefined ? 'duration' : 'ends_at']: mistake });
  throwIfInvalid(mistakes);
  return times;
}

/** Ends an override now; one that has not begun is deleted. */
export async function endOverrideEarly(
  deps: Deps,
  { organization, project, schedule }: ScheduleOfProject,
  override: OverrideRow,
): Promise<{ deleted: number }> {
  return changeCached(deps, organization.id, async trx => {
    if (!(await endOverride(trx, organization.id, override.id)))
      throw new AppError('override.ended', 'the override is over already');
    const path = `${project.slug}/${schedule.slug}/${override.id}`;
    await record(deps, trx, organization.id, { action: 'end', noun: 'override', path, before: toAudit(override) });
    return { deleted: 1 };
  });
}

function toAudit({ user, replaces, starts_at, ends_at, reason }: OverrideRow) {
  return {
    user,
    ...(replaces && { replaces }),
    starts_at: starts_at.toISOString(),
    ends_at: ends_at.toISOString(),
    ...(reason && { reason }),
  };
}
