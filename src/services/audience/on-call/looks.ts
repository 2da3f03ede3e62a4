/** Compares schedules with what was last seen of them, and stores what is to be announced and who should be in their groups. */
import { findChange, findNextLook, planShifts } from '../../../core/oncall/changes.ts';
import { setWanted } from '../../../db/audience/on-call/groups.ts';
import { listSchedules } from '../../../db/audience/on-call/schedules.ts';
import {
  addNotice,
  lockDueSchedulesAcrossTenants,
  lockUnseenSchedule,
  storeLook,
  type WatchedSchedule,
} from '../../../db/audience/on-call/watches.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { nextTurn } from '../../../lib/load/slices.ts';
import type { Deps } from '../../deps.ts';
import { describeChange } from './announcements.ts';
import { compile } from './on-call.ts';

/** Schedules that one transaction locks: a change of one of them waits for it. */
const maxLocked = 20;

/** Looks at schedules that are due, and stores what is to be announced about them. Returns how many there were. */
export async function lookAtSchedules({ db }: Pick<Deps, 'db'>): Promise<number> {
  return db.transaction().execute(async trx => {
    const due = await lockDueSchedulesAcrossTenants(trx, maxLocked);
    for (const watched of due) {
      await look(trx, watched);
      await nextTurn();
    }
    return due.length;
  });
}

async function look(trx: Db, { organization_id, schedule_id, shifts: before, now }: WatchedSchedule): Promise<void> {
  const from = before?.[0] ? new Date(before[0].from) : now;
  const [row] = await listSchedules(trx, organization_id, { id: schedule_id, from });
  if (!row) return;
  const at = now.getTime();
  // By the rules of now: what was seen before is compared with what they say.
  const shifts = planShifts(compile({ ...row, history: [] }), from.getTime(), at);
  const change = before && findChange(before, shifts, at);
  await storeLook(trx, organization_id, schedule_id, { shifts, dueAt: new Date(findNextLook(shifts, at)) });
  if (row.groups !== null) await setWanted(trx, organization_id, schedule_id, shifts[0]!.users);
  if (change && row.on_change !== null)
    await addNotice(trx, organization_id, schedule_id, await describeChange(trx, organization_id, row, change));
}

/** Looks at a schedule in the transaction that stores it, so that the first change after that is announced. */
export async function lookFirst(trx: Db, organizationId: number, scheduleId: number): Promise<void> {
  const unseen = await lockUnseenSchedule(trx, organizationId, scheduleId);
  if (unseen) await look(trx, unseen);
}
