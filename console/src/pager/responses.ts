/**
 * Responses to occurrences that survive a bad connection. Each is stored before it is sent, and stays until the service has
 * answered: pages and the service worker send it again. Sending one twice is harmless.
 */
import { ApiError, isTransient } from '../api.ts';
import { texts } from '../texts/pager.ts';
import { send } from './send.ts';
import { announce, readAll, readOne, remove, write } from './store.ts';

/** What is wanted for an occurrence. A later response to the same one replaces it. */
export interface StoredResponse {
  id: string;
  org: string;
  occurrence: string;
  title: string;
  action: 'acknowledge' | 'snooze' | 'resolve';
  /** Until when it is snoozed. */
  until?: string;
  /** The email of the account, because someone else may have signed in meanwhile; or the button of a push message. */
  account?: string;
  button?: { url: string; token: string };
  /** When it was wanted. */
  at: number;
  attempts: number;
  /** When it is sent again. */
  nextAt: number;
  /** What the service said to the last attempt; empty if it could not be reached. */
  reason?: string;
  /** Absent while it was not answered. */
  answer?: string;
  /** Why it is not sent automatically any more. */
  problem?: string;
}

export type NewResponse = Omit<StoredResponse, 'id' | 'at' | 'attempts' | 'nextAt'>;

/** Later, it might stop an escalation that others count on. */
export const maxAgeMs = 3_600_000;
const maxStored = 50;
const minRetryMs = 2_000;
const maxRetryMs = 60_000;
const lockName = 'belfry-pager-responses';

export type Outcome = { state: 'sent'; text: string; changed: boolean } | { state: 'refused'; text: string };

export const listResponses = () => readAll<StoredResponse>('responses');

/** Stores a response and sends it. Returns undefined if it could not be sent yet. */
export async function respond(wanted: NewResponse): Promise<Outcome | undefined> {
  const id = `${wanted.org}/${wanted.occurrence}`;
  await makeRoom(id);
  const response: StoredResponse = { ...wanted, id, at: Date.now(), attempts: 0, nextAt: 0 };
  await write('responses', response);
  announce('responses');
  return navigator.locks.request(lockName, () => attempt(response, true));
}

/** The oldest make room: those that were answered first. */
async function makeRoom(id: string): Promise<void> {
  const others = (await listResponses()).filter(one => one.id !== id);
  const isOver = ({ answer, problem }: StoredResponse) => Number(answer !== undefined || problem !== undefined);
  const oldest = others.sort((a, b) => isOver(b) - isOver(a) || a.at - b.at);
  for (const one of oldest.slice(0, Math.max(0, others.length + 1 - maxStored))) await remove('responses', one.id);
}

/** Sends what is due, or everything that waits. Returns what was answered; another page or the worker may be sending. */
export async function sendWaiting({ now = false } = {}): Promise<{ response: StoredResponse; outcome: Outcome }[]> {
  return navigator.locks.request(lockName, { ifAvailable: true }, async lock => {
    const answered: { response: StoredResponse; outcome: Outcome }[] = [];
    if (!lock) return answered;
    for (const response of await listResponses()) {
      if (!isWaiting(response) || (!now && response.nextAt > Date.now())) continue;
      const outcome = await attempt(response);
      if (outcome) answered.push({ response, outcome });
      // The others would wait for the same connection.
      else break;
    }
    return answered;
  });
}

export function isWaiting({ answer, problem }: StoredResponse): boolean {
  return answer === undefined && problem === undefined;
}

/** Tries again what is no longer sent automatically. */
export async function sendAgain(response: StoredResponse): Promise<Outcome | undefined> {
  const { problem: _, ...again } = response;
  const renewed = { ...again, at: Date.now() };
  await write('responses', renewed);
  return navigator.locks.request(lockName, () => attempt(renewed));
}

export async function discard(id: string): Promise<void> {
  await remove('responses', id);
  announce('responses');
}

/** What was sent `atOnce` is shown where it was asked for; what was sent later stays until someone has read it. */
async function attempt(response: StoredResponse, atOnce = false): Promise<Outcome | undefined> {
  const keep = async (more: Partial<StoredResponse>) => {
    // Discarded or replaced meanwhile.
    if ((await readOne<StoredResponse>('responses', response.id))?.at !== response.at) return;
    await write('responses', { ...response, ...more });
    announce('responses');
  };
  if (Date.now() - response.at > maxAgeMs) {
    await keep({ problem: texts.tooOld });
    return undefined;
  }
  try {
    const outcome = await send(response);
    if (atOnce) await discard(response.id);
    else await keep({ answer: outcome.text });
    return outcome;
  } catch (error) {
    if (isRefused(error)) {
      const { message: text } = error as Error;
      if (atOnce) await discard(response.id);
      else await keep({ answer: texts.refused(text) });
      return { state: 'refused', text };
    }
    const attempts = response.attempts + 1;
    const after = error instanceof ApiError ? (error.retryAfter ?? 0) * 1_000 : 0;
    const delay = Math.max(after, Math.min(minRetryMs * 2 ** response.attempts, maxRetryMs));
    await keep({ attempts, nextAt: Date.now() + delay, reason: error instanceof ApiError ? error.message : '' });
    return undefined;
  }
}

/** Everything else may pass: no connection, an overloaded service, a session that ended. */
function isRefused(error: unknown): boolean {
  if (!(error instanceof ApiError) || isTransient(error)) return false;
  return error.status !== 401 && error.status !== 408 && error.status !== 429 && error.code !== 'session.csrf';
}
