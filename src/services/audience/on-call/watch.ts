/**
 * Announces who is on call, for schedules with `on_change`: hand-overs, and changes of the next days. Schedules with `groups` are looked
 * at in the same way. Every process does so; the database gives each schedule to one of them. What was seen and what is to be announced
 * are stored together, and the event is triggered under an id that was stored before, so that a crash neither skips nor repeats an
 * announcement.
 */
import type { FastifyBaseLogger } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { commandLine } from '../../../core/identity/actor.ts';
import { changeLimits } from '../../../core/oncall/changes.ts';
import {
  type ClaimedNotice,
  claimNoticesAcrossTenants,
  endNotice,
  findNextShiftDueAcrossTenants,
  postponeNotice,
} from '../../../db/audience/on-call/watches.ts';
import { findUserIds } from '../../../db/audience/users.ts';
import { blockedMs, dueRound, PollLoop } from '../../../lib/process/poll-loop.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { requireEvent, triggerEvent } from '../../history/triggers.ts';
import { lookAtSchedules } from './looks.ts';

const maxNotices = 100;
/** Until an announcement is repeated that failed for a limit, and one that fails until someone corrects the configuration. */
const againSeconds = { limited: 5, refused: 60 };
/** What cannot be announced for as long is given up: the next hand-over counts more. */
const giveUpMs = 3_600_000;

export function watchSchedules(deps: Deps, log: FastifyBaseLogger, isPaused: () => boolean): PollLoop {
  const round = dueRound({
    isPaused,
    findNextDue: withinMs => findNextShiftDueAcrossTenants(deps.db, withinMs),
    processDue: async () => {
      const seen = await lookAtSchedules(deps);
      const notices = await claimNoticesAcrossTenants(deps.db, maxNotices);
      // Those of a schedule one after the other, so that people read them in their order.
      const bySchedule = Map.groupBy(notices, one => `${one.organization_id}/${one.schedule_id}`);
      await Promise.all(
        [...bySchedule.values()].map(async own => {
          for (const notice of own) await announce(deps, log, notice);
        }),
      );
      return seen + notices.length;
    },
  });
  return new PollLoop(round, { log, task: 'looking for hand-overs', everyMs: blockedMs });
}

/** What fails here is due again when its claim ends. */
async function announce(deps: Deps, log: FastifyBaseLogger, notice: ClaimedNotice): Promise<void> {
  const { organization_id, organization, schedule } = notice;
  try {
    await trigger(deps, notice);
    await endNotice(deps.db, organization_id, notice, null);
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'internal') {
      log.error({ err: error, organization, schedule }, 'announcing a change of a schedule failed');
      return;
    }
    const isLimited = error.kind === 'rate_limited' || error.kind === 'unavailable';
    const isGivenUp = !isLimited && currentTime() - notice.created_at.getTime() > giveUpMs;
    if (isGivenUp) return endNotice(deps.db, organization_id, notice, error.message);
    const seconds = isLimited ? againSeconds.limited : againSeconds.refused;
    await postponeNotice(deps.db, organization_id, notice, { error: error.message, seconds });
  }
}

/** Repeating it does nothing, because the occurrence is stored under the id of the announcement. */
async function trigger(deps: Deps, notice: ClaimedNotice): Promise<void> {
  const { organization_id, id, context, on_change, organization: org, project: prj, schedule } = notice;
  if (on_change === null) return;
  const [app, evt] = on_change.split('/') as [string, string];
  const missing = `there is no event ${on_change}: give the schedule ${schedule} another one`;
  const path = await requireEvent(deps, { org, prj, app, evt }, missing);
  // Naming a user who has been deleted would create one.
  const existing = await findUserIds(deps.db, organization_id, notice.recipients);
  const recipients = notice.recipients.filter(username => existing.has(username)).slice(0, changeLimits.recipients);
  const actor = { ...commandLine, name: `schedule ${schedule}` };
  await triggerEvent({ ...deps, actor }, path, { id, context, options: { recipients } });
}
