/**
 * Counts the recipients whom an occurrence never reached, because it was cancelled or stopped otherwise during its expansion. The
 * same decisions are made as for an expansion, page by page, but none is stored.
 */
import type pg from 'pg';
import { isExcludedByTrigger } from '../../core/decision/decide.ts';
import type { TriggerOptions } from '../../core/trigger.ts';
import type { Cursor } from '../../db/ledger/cursor.ts';
import {
  type ClaimedCount,
  claimUnexpandedAcrossTenants,
  storeUnexpandedPage,
} from '../../db/ledger/expand/unexpanded-counts.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { decideWithCanary } from '../../pipeline/canary.ts';
import type { DecisionPage } from '../../pipeline/decide.ts';
import { planDeletedEvent } from '../../pipeline/event-plan.ts';
import { RecipientReader } from '../../pipeline/recipients.ts';
import type { ExpandTools } from './frame.ts';

export interface CountTools extends Pick<ExpandTools, 'db' | 'hot' | 'plans' | 'marker' | 'log'> {
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
    const task = 'counting the recipients of a stopped occurrence';
    this.loop = new PollLoop(() => this.#countAll(), { log: tools.log, task, everyMs: pollEveryMs });
  }

  async #countAll(): Promise<void> {
    while (!this.loop.isStopping && !this.#tools.isHeld() && (await this.#countNext()));
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
    const { context } = claimed;
    // It was deleted meanwhile.
    if (context === null) return { count: 0, cursor: null };
    const { decisions, cursor } = await decideUnstored(this.#tools, { ...claimed, context });
    return { count: decisions.length, cursor };
  }
}

/** Decides a page of an occurrence that is not expanded. What its trigger excludes is left out. */
export async function decideUnstored(
  { db, hot, plans, marker }: Pick<CountTools, 'db' | 'hot' | 'plans' | 'marker'>,
  { organization_id, id, event_id, project_id, context, options, cursor }: Omit<ClaimedCount, 'claims'>,
): Promise<Pick<DecisionPage, 'decisions' | 'cursor'>> {
  const plan = (await plans.findEvent(organization_id, event_id)) ?? planDeletedEvent(organization_id, project_id);
  // Without a quota, no users are created.
  const recipients = new RecipientReader({ db, pool: hot, plans }, {});
  const from = afterWait(cursor);
  const page = { context, options: options as TriggerOptions, cursor: from, limit: pageSize, now: currentTime() };
  const work = { organizationId: organization_id, occurrenceId: id };
  const { decisions, cursor: next } = await marker.during(work, mark =>
    decideWithCanary({ plans, recipients }, plan, { ...page, mark }, id),
  );
  return { decisions: decisions.filter(({ reason }) => !isExcludedByTrigger(reason)), cursor: next };
}

/** Counting does not wait for what becomes of a sample. */
function afterWait(cursor: Cursor | null): Cursor | null {
  if (cursor?.canary?.stage !== 'waiting') return cursor;
  return { ...cursor, canary: { ...cursor.canary, stage: 'rest' } };
}
