/**
 * Counts who would get what of an occurrence that waits for an approval, page by page with the decisions of an expansion, and stores
 * nothing but the sums and a few samples. Also ends those that no one approved in time.
 */
import { hash } from 'node:crypto';
import { explainReason } from '../../core/decision/explain.ts';
import {
  type ClaimedHold,
  claimHoldAcrossTenants,
  endHeld,
  endHoldsOfEndedAcrossTenants,
  type HoldCounts,
  type HoldSample,
  isGivenUp,
  listExpiredHoldsAcrossTenants,
  releaseCounted,
  storeCountedPage,
  storeHeld,
} from '../../db/ledger/expand/holds.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { countRecipients, isSent, type RecipientDecision } from '../../pipeline/decide.ts';
import type { Meters } from '../telemetry/meters.ts';
import { type CountTools, decideUnstored } from './unexpanded-counts.ts';

/** Looks for counts of workers that have ended, and for what has expired; new holds are announced. */
const pollEveryMs = 10_000;
const maxSamples = 10;
const maxExpired = 100;

export class HoldCounter {
  readonly #tools: Omit<CountTools, 'pool'> & { meters: Meters };
  readonly loop: PollLoop;

  constructor(tools: Omit<CountTools, 'pool'> & { meters: Meters }) {
    this.#tools = tools;
    const task = 'counting the recipients of a held occurrence';
    this.loop = new PollLoop(() => this.#round(), { log: tools.log, task, everyMs: pollEveryMs });
  }

  async #round(): Promise<void> {
    if (this.#tools.isHeld()) return;
    await this.#expire();
    while (!this.loop.isStopping && !this.#tools.isHeld() && (await this.#countNext()));
  }

  /** Counts one page. Returns false if there was none. */
  async #countNext(): Promise<boolean> {
    const { db, hot, log } = this.#tools;
    const claimed = await claimHoldAcrossTenants(hot);
    if (!claimed) return false;
    const { context, organization_id, id } = claimed;
    if (context === null) {
      await endHoldsOfEndedAcrossTenants(hot);
      return true;
    }
    const before = { counts: countsOf(claimed), samples: claimed.samples };
    if (isGivenUp(claimed)) {
      await storeHeld(db, organization_id, claimed, { ...before, cursor: null, isCounted: false });
      log.warn({ occurrence: id }, 'could not count the recipients of an occurrence that waits for an approval');
      return true;
    }
    const { decisions, cursor } = await decideUnstored(this.#tools, { ...claimed, context });
    const page = { ...addDecisions(claimed, before, decisions), cursor };
    if (cursor) await storeCountedPage(db, organization_id, claimed, page);
    else if (page.counts.recipients <= claimed.threshold) await releaseCounted(db, organization_id, claimed, page);
    else if (await storeHeld(db, organization_id, claimed, { ...page, isCounted: true })) {
      const { recipients } = page.counts;
      log.warn(
        { organization: organization_id, occurrence: id, recipients, threshold: claimed.threshold },
        `an occurrence waits for an approval: ${explainReason(`guard.${claimed.kind}`)}`,
      );
    }
    return true;
  }

  async #expire(): Promise<void> {
    const { db, hot, log, meters } = this.#tools;
    await endHoldsOfEndedAcrossTenants(hot);
    for (const key of await listExpiredHoldsAcrossTenants(hot, maxExpired)) {
      const decision = { state: 'expired', by: null } as const;
      const outcome = await db.transaction().execute(trx => endHeld(trx, key.organization_id, key, decision));
      if (outcome === undefined) continue;
      if (outcome) meters.ended([outcome]);
      meters.holdExpired(key.kind);
      log.error(
        { organization: key.organization_id, occurrence: key.id },
        'an occurrence was not approved in time: it has failed, and nothing that waited was sent',
      );
    }
  }
}

function countsOf({ counts: { recipients = 0, messages = {}, left_out = {} } }: ClaimedHold): HoldCounts {
  return { recipients, messages, left_out };
}

function addDecisions(
  { id }: ClaimedHold,
  before: { counts: HoldCounts; samples: HoldSample[] },
  decisions: readonly RecipientDecision[],
) {
  const messages = { ...before.counts.messages };
  const left_out = { ...before.counts.left_out };
  const samples = new Map(before.samples.map(one => [one.rank, one]));
  let last = [...samples.keys()].sort()[maxSamples - 1];
  for (const decision of decisions) {
    const { channel, reason, recipient, notification } = decision;
    if (!isSent(decision)) {
      left_out[reason!] = (left_out[reason!] ?? 0) + 1;
      continue;
    }
    messages[channel.slug] = (messages[channel.slug] ?? 0) + 1;
    // As good as random, and the same whenever it is counted again.
    const rank = hash('sha256', `${id} ${notification.id} ${recipient.username}`).slice(0, 16);
    if (samples.has(rank) || (last !== undefined && rank >= last)) continue;
    const { user_id, email } = recipient;
    samples.set(rank, { rank, notification: notification.id, user_id, email: user_id === 0 ? email : null });
    for (const extra of [...samples.keys()].sort().slice(maxSamples)) samples.delete(extra);
    last = [...samples.keys()].sort()[maxSamples - 1];
  }
  const recipients = before.counts.recipients + countRecipients(decisions);
  const sorted = [...samples.values()].sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return { counts: { recipients, messages, left_out }, samples: sorted };
}
