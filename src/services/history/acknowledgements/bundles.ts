/** Acknowledges all alerts of a bundle. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../../core/errors.ts';
import { acknowledgeTextsIn } from '../../../core/message/acknowledge-texts.ts';
import { fillText } from '../../../core/text/text.ts';
import { type BundledOccurrence, listBundledOccurrences } from '../../../db/ledger/digests/bundles.ts';
import type { Deps } from '../../deps.ts';
import { acknowledge } from './acknowledgements.ts';
import { answerEach } from './each.ts';

/** Chats show a failure, and some repeat the request, if the answer takes three seconds. */
const answerWithinMs = 2_000;

export interface BundleAnswer {
  /** The alerts that were open and are acknowledged now. */
  count: number;
  total: number;
  /** Whether there are more to acknowledge, which this process does meanwhile. */
  isGoingOn: boolean;
}

interface Progress {
  count: number;
  total: number;
  done: Promise<void>;
}

/** By organization, bundle and who acknowledges: pressing again joins what is going on. */
const running = new Map<string, Progress>();

export function findBundle(
  { pool }: Pick<Deps, 'pool'>,
  organizationId: number,
  id: string,
): Promise<BundledOccurrence[]> {
  return listBundledOccurrences(pool, organizationId, id);
}

/**
 * Acknowledges every alert that is still open, each in its own transaction. Answers in time for a chat: with thousands, the rest
 * follows after the answer. Repeating it after a crash acknowledges what is left.
 */
export async function acknowledgeBundle(
  deps: Deps,
  organizationId: number,
  id: string,
  by: string,
  user?: number,
): Promise<BundleAnswer> {
  const name = `${organizationId}/${id}/${user ?? by}`;
  const progress = running.get(name) ?? (await begin(deps, name, { organizationId, id, by, user }));
  const timeout = new AbortController();
  const late = sleep(answerWithinMs, true, { signal: timeout.signal }).catch(() => false);
  const isGoingOn = await Promise.race([progress.done.then(() => false), late]);
  timeout.abort();
  return { count: progress.count, total: progress.total, isGoingOn };
}

interface Request {
  organizationId: number;
  id: string;
  by: string;
  user: number | undefined;
}

async function begin(deps: Deps, name: string, { organizationId, id, by, user }: Request): Promise<Progress> {
  const all = await findBundle(deps, organizationId, id);
  const open = all.filter(one => one.is_open);
  const progress: Progress = { count: 0, total: all.length, done: Promise.resolve() };
  progress.done = answerEach(organizationId, open, async ({ id: occurrence }) => {
    if (await isAcknowledged(deps, organizationId, occurrence, by, user)) progress.count++;
  }).finally(() => running.delete(name));
  // After the answer, what has failed stays open, and its message keeps the button.
  progress.done.catch(() => {});
  running.set(name, progress);
  return progress;
}

/** An alert whose recipients each have to acknowledge is left alone by everyone else. */
async function isAcknowledged(...request: Parameters<typeof acknowledge>): Promise<boolean> {
  try {
    return (await acknowledge(...request)).changed;
  } catch (error) {
    if (error instanceof AppError && error.code === 'occurrence.not_asked') return false;
    throw error;
  }
}

/** Returns what to answer to the person who acknowledged a bundle. */
export function describeBundleAnswer(
  locale: string | null | undefined,
  { count, total, isGoingOn }: BundleAnswer,
): string {
  const { acknowledgedAll, acknowledgedSome } = acknowledgeTextsIn(locale);
  return fillText(isGoingOn ? acknowledgedSome : acknowledgedAll, { count: String(count), total: String(total) });
}
