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
import { PollLoop, waitFor } from '../../../lib/process/poll-loop.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { triggerEvent } from '../../history/triggers.ts';
import { lookAtSchedules } from './looks.ts';

/** A process knows of a hand-over before it comes. It is notified of changes; this is for what it was not notified of. */
const lookAheadMs = 5_000;
const retryMs = 1_000;
const maxNotices = 100;
/** Until an announcement is repeated that failed for a limit, and one that fails until someone corrects the configuration. */
const againSeconds = { limited: 5, refused: 60 };
/** What cannot be announced for as long is given up: the next hand-over counts more. */
const giveUpMs = 3_600_000;

export class ScheduleWatch {
  readonly #deps: Deps;
  readonly #log: FastifyBaseLogger;
  readonly #isPaused: () => boolean;
  readonly loop: PollLoop;

  constructor(deps: Deps, log: FastifyBaseLogger, isPaused: () => boolean) {
    this.#deps = deps;
    this.#log = log;
    this.#isPaused = isPaused;
    this.loop = new PollLoop(() => this.#round(), { log, task: 'looking for hand-overs', everyMs: retryMs });
  }

  /** Returns how long to wait for the next one. */
  async #round(): Promise<number> {
    if (this.#isPaused()) return lookAheadMs;
    const waitMs = waitFor(await findNextShiftDueAcrossTenants(this.#deps.db, 2 * lookAheadMs), lookAheadMs);
    if (waitMs > 0) return waitMs;
    const seen = await lookAtSchedules(this.#deps);
    const notices = await claimNoticesAcrossTenants(this.#deps.db, maxNotices);
    // Those of a schedule one after the other, so that people read them in their order.
    const bySchedule = Map.groupBy(notices, one => `${one.organization_id}/${one.schedule_id}`);
    await Promise.all(
      [...bySchedule.values()].map(async own => {
        for (const notice of own) await this.#announce(notice);
      }),
    );
    return seen + notices.length > 0 ? 0 : retryMs;
  }

  /** What fails here is due again when its claim ends. */
  async #announce(notice: ClaimedNotice): Promise<void> {
    const { organization_id, organization, schedule } = notice;
    try {
      await trigger(this.#deps, notice);
      await endNotice(this.#deps.db, organization_id, notice, null);
    } catch (error) {
      if (!(error instanceof AppError) || error.kind === 'internal') {
        this.#log.error({ err: error, organization, schedule }, 'announcing a change of a schedule failed');
        return;
      }
      const isLimited = error.kind === 'rate_limited' || error.kind === 'unavailable';
      const isGivenUp = !isLimited && currentTime() - notice.created_at.getTime() > giveUpMs;
      if (isGivenUp) return endNotice(this.#deps.db, organization_id, notice, error.message);
      const seconds = isLimited ? againSeconds.limited : againSeconds.refused;
      await postponeNotice(this.#deps.db, organization_id, notice, { error: error.message, seconds });
    }
  }
}

/** Repeating it does nothing, because the occurrence is stored under the id of the announcement. */
async function trigger(deps: Deps, notice: ClaimedNotice): Promise<void> {
  const { organization_id, id, context, on_change, organization: org, project: prj, schedule } = notice;
  if (on_change === null) return;
  const [app, evt] = on_change.split('/') as [string, string];
  const path = await deps.tenantCache.resolvePath({ org, prj, app, evt });
  const { organization, project, application, event } = path ?? {};
  if (!organization || !project || !application || !event) {
    throw new AppError('event.not_found', `there is no event ${on_change}: give the schedule ${schedule} another one`);
  }
  // Naming a user who has been deleted would create one.
  const existing = await findUserIds(deps.db, organization_id, notice.recipients);
  const recipients = notice.recipients.filter(username => existing.has(username)).slice(0, changeLimits.recipients);
  const actor = { ...commandLine, name: `schedule ${schedule}` };
  await triggerEvent(
    { ...deps, actor },
    { organization, project, application, event },
    { id, context, options: { recipients } },
  );
}
