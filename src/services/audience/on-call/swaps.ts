/** Swaps: a user asks the others of a schedule to take a shift, and the first who accepts gets it. */
import { AppError, invalid, throwIfInvalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import { changeLimits } from '../../../core/oncall/changes.ts';
import { listShifts } from '../../../core/oncall/schedule.ts';
import { findSwapMistakes, type NewSwap, swapLimits } from '../../../core/oncall/swaps.ts';
import { dayMs } from '../../../core/oncall/zone.ts';
import { fold } from '../../../core/text/text.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { countSwaps, endSwap, findSwap, type SwapRow } from '../../../db/audience/on-call/swaps.ts';
import { addNotice } from '../../../db/audience/on-call/watches.ts';
import { findUserIds } from '../../../db/audience/users.ts';
import { insert } from '../../../db/connection/insert.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { changeCached } from '../../operations/transaction.ts';
import { describeSwap } from './announcements.ts';
import { compile } from './on-call.ts';
import { type ScheduleOfProject, storeOverride } from './overrides.ts';

/** Asks the others of the schedule, by the event that it names in `on_change`. */
export async function createSwap(deps: Deps, at: ScheduleOfProject, input: NewSwap): Promise<SwapRow> {
  const { organization, schedule } = at;
  throwIfInvalid(findSwapMistakes(input, currentTime()));
  const [starts_at, ends_at] = [new Date(input.starts_at), new Date(input.ends_at)];
  return deps.db.transaction().execute(async trx => {
    const { all, open } = await countSwaps(trx, organization.id, schedule.id);
    if (open >= swapLimits.open || all >= swapLimits.all) {
      const most = `at most ${swapLimits.open} open swaps of a schedule, and ${swapLimits.all} in all`;
      throw new AppError('swap.limit', `${most}: withdraw some that are no longer needed`);
    }
    const user_id = await requireUser(trx, organization.id, input.user);
    const row = await readSchedule(trx, at, starts_at);
    const shifts = listShifts(compile(row), starts_at.getTime(), ends_at.getTime());
    if (!shifts.some(({ users }) => users.includes(fold(input.user))))
      throw invalid({ user: [`${JSON.stringify(input.user)} is not on call at any time of the shift`] });
    const id = await insert(trx, organization.id, 'schedule_swaps', {
      schedule_id: schedule.id,
      user_id,
      ...{ starts_at, ends_at, message: input.message?.trim() || null, created_by: actorName(deps.actor) },
    });
    const swap = (await findSwap(trx, organization.id, schedule.id, id))!;
    await audit(deps, trx, at, swap, 'create');
    const others = row.layers.flatMap(layer => layer.users.flat()).filter(user => user !== swap.user);
    await announce(trx, at, row, swap, others);
    return swap;
  });
}

/** Gives the shift to the user, unless someone else has taken it: of several who accept at the same time, the first counts. */
export async function acceptSwap(deps: Deps, at: ScheduleOfProject, swap: SwapRow, username: string): Promise<SwapRow> {
  const { organization, schedule } = at;
  return changeCached(deps, organization.id, async trx => {
    const acceptedById = await requireUser(trx, organization.id, username);
    if (fold(username) === swap.user) throw invalid({ user: ['must be someone else than the user who asks'] });
    await end(trx, at, swap, { state: 'accepted', acceptedById });
    const { user: replaces, starts_at, ends_at, message } = swap;
    const times = { starts_at, ends_at };
    await storeOverride(deps, trx, at, { user: username, replaces, ...times, ...(message && { reason: message }) });
    const changed = (await findSwap(trx, organization.id, schedule.id, swap.id))!;
    await audit(deps, trx, at, changed, 'accept');
    // An earlier shift is announced as a change of the schedule.
    if (starts_at.getTime() > currentTime() + changeLimits.days * dayMs)
      await announce(trx, at, await readSchedule(trx, at, starts_at), changed, [swap.user, changed.accepted_by!]);
    return changed;
  });
}

export async function withdrawSwap(deps: Deps, at: ScheduleOfProject, swap: SwapRow): Promise<{ withdrawn: number }> {
  return deps.db.transaction().execute(async trx => {
    await end(trx, at, swap, { state: 'withdrawn', acceptedById: null });
    await audit(deps, trx, at, swap, 'withdraw');
    return { withdrawn: 1 };
  });
}

export async function getSwap(
  { db }: Pick<Deps, 'db'>,
  { organization, schedule }: ScheduleOfProject,
  id: number,
): Promise<SwapRow> {
  const found = await findSwap(db, organization.id, schedule.id, id);
  if (!found) throw new AppError('swap.not_found', `the schedule ${schedule.slug} has no swap ${id}`);
  return found;
}

async function end(
  trx: Db,
  { organization, schedule }: ScheduleOfProject,
  { id }: SwapRow,
  change: Parameters<typeof endSwap>[3],
): Promise<void> {
  if (await endSwap(trx, organization.id, id, change)) return;
  const found = await findSwap(trx, organization.id, schedule.id, id);
  if (found?.state === 'accepted') throw new AppError('swap.taken', `${found.accepted_by} has taken the shift already`);
  const why = found?.state === 'withdrawn' ? 'was withdrawn' : 'has expired: the shift has begun';
  throw new AppError('swap.ended', `the swap ${why}`);
}

async function readSchedule(db: Db, { organization, schedule }: ScheduleOfProject, from: Date): Promise<ScheduleRow> {
  const [row] = await listSchedules(db, organization.id, { id: schedule.id, from });
  if (!row) throw new AppError('schedule.not_found', `the schedule ${schedule.slug} has been deleted`);
  return row;
}

async function requireUser(db: Db, organizationId: number, username: string): Promise<number> {
  const id = (await findUserIds(db, organizationId, [fold(username)])).get(fold(username));
  if (id === undefined) throw invalid({ user: [`there is no user ${JSON.stringify(username)}`] });
  return id;
}

async function announce(
  trx: Db,
  { organization, schedule }: ScheduleOfProject,
  row: ScheduleRow,
  swap: SwapRow,
  recipients: readonly string[],
): Promise<void> {
  if (row.on_change === null) return;
  const context = await describeSwap(trx, organization.id, row, swap);
  await addNotice(trx, organization.id, schedule.id, { context, recipients: [...new Set(recipients)] });
}

async function audit(
  deps: Deps,
  trx: Db,
  { organization, project, schedule }: ScheduleOfProject,
  { id, user, accepted_by, starts_at, ends_at, message }: SwapRow,
  action: 'create' | 'accept' | 'withdraw',
): Promise<void> {
  const path = `${project.slug}/${schedule.slug}/${id}`;
  const state = {
    user,
    ...(accepted_by && { accepted_by }),
    starts_at: starts_at.toISOString(),
    ends_at: ends_at.toISOString(),
    ...(message && { message }),
  };
  const kept = action === 'withdraw' ? { before: state } : { after: state };
  await record(deps, trx, organization.id, { action, noun: 'swap', path, ...kept });
}
