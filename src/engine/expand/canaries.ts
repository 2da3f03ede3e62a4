/** The canary: what is stored when its sample was expanded, and the decision after the wait. */
import {
  type CanaryState,
  describeFigures,
  judge,
  type SampleCounts,
  type Sampled,
} from '../../core/decision/guards/canary.ts';
import { expiresMsOf } from '../../core/decision/guards/guard.ts';
import { type Cursor, startCursor } from '../../db/ledger/cursor.ts';
import { countSamples } from '../../db/ledger/expand/canaries.ts';
import type { ClaimedOccurrence, ExpansionPage } from '../../db/ledger/expand/expand.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { EventPlan } from '../../pipeline/event-plan.ts';
import { guardsOf } from './audiences.ts';
import type { ExpandTools } from './frame.ts';

/** How often it looks again while too few messages of the sample were attempted. */
const maxRecheckMs = 60_000;
const none: SampleCounts = { messages: 0, attempted: 0, failed: 0, bounced: 0, complained: 0, variants: [] };

/** What the page has that ends a stage of a canary. */
type StageEnd = Pick<ExpansionPage, 'cursor' | 'reason' | 'hold'> & { retryAt?: Date | 'infinity' };

/** Returns what is stored with the last page of a sample: the others wait. `lastDue`: when the last message of the sample is due. */
export function endSample(cursor: Cursor, lastDue: number): StageEnd {
  const state = cursor.canary!;
  const sampledAt = Math.max(currentTime(), lastDue);
  const waitMs = Math.max(...Object.values(state.notifications).map(one => one.waitMs));
  return {
    cursor: { ...cursor, canary: { ...state, sampledAt } },
    reason: 'canary.waiting',
    retryAt: new Date(sampledAt + waitMs),
    hold: {
      kind: 'canary',
      state: 'waiting',
      threshold: 0,
      largest: null,
      expiresMs: sampledAt + waitMs - currentTime(),
    },
  };
}

/** Decides what follows the wait: the others, an approval, or more time. */
export async function endWait(
  { hot, log }: Pick<ExpandTools, 'hot' | 'log'>,
  plan: EventPlan,
  { organization_id, id }: ClaimedOccurrence,
  cursor: Cursor,
): Promise<StageEnd> {
  const state = cursor.canary!;
  const ids = Object.keys(state.notifications);
  const counts = await countSamples(hot, organization_id, id, ids);
  const expiresMs = expiresMsOf(guardsOf(plan));
  const waitMs = Math.max(...Object.values(state.notifications).map(one => one.waitMs));
  const isLast = (state.sampledAt ?? 0) + waitMs + expiresMs <= currentTime();
  const { decision, figures } = judge(state, notification => counts.get(notification) ?? none, isLast);
  if (decision === 'wait') {
    const retryAt = new Date(currentTime() + Math.min(maxRecheckMs, waitMs));
    return { cursor, reason: 'canary.waiting', retryAt };
  }
  const decided = Object.entries(state.notifications).map(([id, one], i): [string, Sampled] => {
    const { winner } = figures[i]!;
    return [id, { ...one, ...(winner && { winner }) }];
  });
  const rest: CanaryState = { ...state, stage: 'rest', notifications: Object.fromEntries(decided) };
  const next: Cursor = { ...cursor, ...startCursor, canary: rest };
  const hold = { kind: 'canary', threshold: 0, largest: null, figures, expiresMs } as const;
  if (decision === 'go') return { cursor: next, reason: null, hold: { ...hold, state: 'released' } };
  log.warn(
    { organization: organization_id, occurrence: id, figures: describeFigures(figures) },
    'the sample of an occurrence stopped it: the others wait for an approval',
  );
  return {
    cursor: next,
    reason: 'guard.canary',
    retryAt: 'infinity',
    hold: { ...hold, state: 'counting', cursor: next },
  };
}
