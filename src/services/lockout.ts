/**
 * Limits on guessing, for each account and where the guesses come from, that nobody can use to lock somebody else out:
 *
 * | who guesses                     | what is counted                                                       |
 * | ------------------------------- | --------------------------------------------------------------------- |
 * | a device that has signed in     | that device alone                                                     |
 * | whoever sends a code along      | their network; nothing is told unless password and code are both right |
 * | anybody else                    | their network, and besides all of them together                       |
 *
 * A passkey is not guessed, so nothing here stops it.
 */
import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { AppError } from '../core/errors.ts';
import { forgetAttemptsAcrossTenants, takeAttemptAcrossTenants } from '../db/sign-in-limits.ts';
import type { Deps } from './deps.ts';

/** Where somebody signs in from. */
export interface Visitor {
  origin: string;
  userAgent: string | undefined;
  requestId: string;
  /** What the browser was given when this account last signed in there. */
  deviceCookie(accountId: number): string | undefined;
}

/** From one network or device; then it is locked for a minute, and twice as long with every further one. */
const mostFromOne = 5;
/** From everywhere together. No person mistypes so often, and a thousand machines get no further. */
const mostFromAnywhere = 50;

export interface Guess {
  /** Folded. */
  email: string;
  /** Undefined when there is no such account: the answers are the same. */
  accountId: number | undefined;
  what: 'password' | 'second factor';
  /** What is so long that only its own network is counted. */
  isUnguessable?: boolean;
  withCode?: boolean;
}

/** What to say once it is known whether the guess was right. */
export interface Attempt {
  failed(): void;
  succeeded(): Promise<void>;
}

/** Counts the guess; throws when there were too many. */
export async function takeAttempt(deps: Deps, visitor: Visitor, guess: Guess): Promise<Attempt> {
  const { email, accountId, what } = guess;
  const { failures } = deps.signIn;
  const network = networkOf(visitor.origin);
  const device = accountId === undefined ? undefined : knownDevice(deps, visitor, accountId);
  const isCounted = device === undefined && !guess.withCode;
  const now = Date.now();
  if (isCounted) {
    const waitMs = failures.waitMs(network, now);
    if (waitMs > 0) throw locked(waitMs);
  }
  const from = device ? `device ${device}` : `network ${network}`;
  const scopes: [scope: string, most: number][] = [
    [`${what} ${guess.withCode ? 'with code ' : ''}from ${from}`, mostFromOne],
  ];
  if (isCounted && !guess.isUnguessable) scopes.push([`${what} from anywhere`, mostFromAnywhere]);
  for (const [scope, most] of scopes) {
    const lockedUntil = await takeAttemptAcrossTenants(deps.db, email, scope, most);
    if (lockedUntil) throw locked(lockedUntil.getTime() - now);
  }
  return {
    failed: () => {
      if (device === undefined) failures.note(network, now);
    },
    succeeded: () =>
      forgetAttemptsAcrossTenants(
        deps.db,
        email,
        scopes.map(([scope]) => scope),
      ),
  };
}

function locked(waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new AppError('session.locked', `too many wrong attempts: try again in ${retryAfterSeconds} seconds`, {
    retryAfterSeconds,
  });
}

/** What one customer of a network provider can have many of counts as one. */
export function networkOf(origin: string): string {
  if (!isIPv6(origin) || origin.startsWith('::ffff:')) return origin;
  const [before = [], after = []] = origin.split('::').map(part => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

const purpose = 'known device';
const textOf = (accountId: number, device: string) => `${accountId} ${device}`;

/** The device that the cookie stands for, if it has signed in to this account before. */
function knownDevice({ signIn }: Deps, visitor: Visitor, accountId: number): string | undefined {
  const [device = '', signature = ''] = (visitor.deviceCookie(accountId) ?? '').split('.');
  return signIn.signer.isSigned(signature, textOf(accountId, device), purpose) ? device : undefined;
}

/** For the cookie; the same device keeps its name. */
export function deviceCookieFor(deps: Deps, visitor: Visitor, accountId: number): string {
  const device = knownDevice(deps, visitor, accountId) ?? randomBytes(16).toString('base64url');
  return `${device}.${deps.signIn.signer.sign(textOf(accountId, device), purpose)}`;
}
