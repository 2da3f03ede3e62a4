/**
 * Counts the recipients whom an occurrence never reached, because it was cancelled or stopped otherwise during its expansion. The
 * same decisions are made as for an expansion, page by page, but none is stored.
 */
import type pg from 'pg';
import { isExcludedByTrigger } from '../../core/decision/decide.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import {
  type ClaimedCount,
  claimUnexpandedAcrossTenants,
  storeUnexpandedPage,
} from '../../db/ledger/expand/unexpanded-counts.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { decidePage } from '../../pipeline/decide.ts';
import { planDeletedEvent } from '../../pipeline/event-plan.ts';
import { RecipientReader } from '../../pipeline/recipients.ts';
import type { ExpandTools } from './frame.ts';

interface CountTools extends Pick<ExpandTools, 'db' | 'hot' | 'plans' | 'marker' | 'log'> {
  pool: pg.Pool;
  isHeld: () => boolean;
}

const pageSize = 1_000;
/** Looks for occurrences of workers that have ended; others announce them. */
const pollEveryMs = 30_000;

export class UnexpandedCounter {
  readonly #tools: CountTools;
  readonly loop: PollLoop;

  constructor(tools: CountTools) {
    this.#tools = tools;
    this.loop = new PollLoop(
      () => this.#countAll(),
      error => {
        tools.log.warn({ err: error }, 'counting the recipients of a stopped occurrence failed; trying again');
        return pollEveryMs;
      },
    );
  }

  async #countAll(): Promise<number> {
    while (!this.loop.isStopping && !this.#tools.isHeld() && (await this.#countNext()));
    return pollEveryMs;
  }

  /** Counts one page. Returns false if there was none. */
  async #countNext(): Promise<boolean> {
    const { pool } = this.#tools;
    const claimed = await claimUnexpandedAcrossTenants(pool);
    if (!claimed) return false;
    await storeUnexpandedPage(pool, claimed.organization_id, claimed, await this.#countPage(claimed));
    return true;
  }

  async #countPage(claimed: ClaimedCount) {
    const { db, hot, plans, marker } = this.#tools;
    const { organization_id, id, event_id, project_id, context, cursor: from } = claimed;
    // It was deleted meanwhile.
    if (context === null) return { count: 0, cursor: null };
    const plan = (await plans.findEvent(organization_id, event_id)) ?? planDeletedEvent(organization_id, project_id);
    const options = claimed.options as TriggerOptions;
    // Without a quota, no users are created.
    const recipients = new RecipientReader({ db, pool: hot, plans }, {});
    const page = { context, options, cursor: from, limit: pageSize, now: currentTime() };
    const work = { organizationId: organization_id, occurrenceId: id };
    const { decisions, cursor } = await marker.during(work, mark =>
      decidePage({ plans, recipients }, plan, { ...page, mark }),
    );
    return { count: decisions.filter(({ reason }) => !isExcludedByTrigger(reason)).length, cursor };
  }
}
