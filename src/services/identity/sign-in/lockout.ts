/**
 * Brute-force protection. Every attempt is counted, and none of the limits lets an attacker lock the owner of an account out:
 *
 * | attempt                                  | counted per                                                           |
 * | ---------------------------------------- | --------------------------------------------------------------------- |
 * | from a device that has signed in before  | device                                                                |
 * | from any other device, password or code  | network; network and account; account                                 |
 * | the same, password and code in one       | the same, in separate counters. Once the limit per account is reached |
 * | request                                  | the answer is always "locked", unless both are right                  |
 * | with a passkey                           | network, failures only; a valid passkey is never refused              |
 *
 * Attempts are counted when they begin, so that concurrent attempts cannot exceed a limit.
 */
import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { AppError } from '../../../core/errors.ts';
import type { Account } from '../../../db/identity/accounts.ts';
import { forgetAttemptsAcrossTenants, takeAttemptAcrossTenants } from '../../../db/identity/sign-in-limits.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';

/** The client of a sign-in. */
export interface Visitor {
  origin: string;
  userAgent: string | undefined;
  requestId: string;
  /** Returns the device cookie that the browser received when this account last signed in there. */
  deviceCookie(accountId: number): string | undefined;
}

/** Attempts from one network or device before it is locked for a minute. Each further attempt doubles the time, up to 15 minutes. */
const maxFromOne = 5;
/** Attempts from all networks together: more than any user mistypes, and the same limit for a botnet. */
const maxFromAnywhere = 50;

type DeviceAccount = Pick<Account, 'id' | 'email_verified'>;

interface Guess {
  /** Case-folded. */
  email: string;
  /** Undefined when there is no such account. The answers are the same. */
  account: DeviceAccount | undefined;
  what: 'password' | 'second factor';
  /** Whether the secret is too long to guess: then only the network is counted. */
  isUnguessable?: boolean;
  /** Whether password and code are sent in one request. */
  withCode?: boolean;
}

/** An attempt that is counted as failed until `succeeded` is called. */
interface Attempt {
  /** The error to throw if the attempt fails although the limit is already reached. */
  refusal: AppError | undefined;
  succeeded(): Promise<void>;
}

/** Counts an attempt. Throws when there were too many. */
export async function countAttempt(deps: Deps, visitor: Visitor, guess: Guess): Promise<Attempt> {
  const { email, account, what } = guess;
  const { failures } = deps.signIn;
  const network = networkOf(visitor.origin);
  const device = account && findDevice(deps, visitor, account);
  const now = currentTime();
  if (device === undefined) {
    const waitMs = failures.waitMs(network, now);
    if (waitMs > 0) throw locked(waitMs);
    failures.record(network, now);
  }
  const forgive = () => {
    if (device === undefined) failures.undo(network);
  };
  const guessed = guess.withCode ? `${what} with code` : what;
  const fromOne = `${guessed} from ${device ? `device ${device}` : `network ${network}`}`;
  const fromAnywhere = `${guessed} from anywhere`;
  const take = async (scope: string, max: number) => {
    const lockedUntil = await takeAttemptAcrossTenants(deps.db, email, scope, max);
    return lockedUntil && locked(lockedUntil.getTime() - now);
  };
  const isCountedFromAnywhere = device === undefined && !guess.isUnguessable;
  let refusal = await take(fromOne, maxFromOne);
  const isFinal = refusal !== undefined || !guess.withCode;
  if (!refusal && isCountedFromAnywhere) refusal = await take(fromAnywhere, maxFromAnywhere);
  if (refusal && isFinal) {
    // The secret is not going to be checked, so this does not count as an attempt.
    forgive();
    throw refusal;
  }
  return {
    refusal,
    succeeded: async () => {
      forgive();
      await forgetAttemptsAcrossTenants(deps.db, email, [fromOne, fromAnywhere]);
    },
  };
}

/** Counts a refused passkey. Returns the error to throw instead when the network had too many failures. */
export function countRefusedPasskey({ signIn: { failures } }: Deps, visitor: Visitor): AppError | undefined {
  const network = networkOf(visitor.origin);
  const now = currentTime();
  const waitMs = failures.waitMs(network, now);
  failures.record(network, now);
  return waitMs > 0 ? locked(waitMs) : undefined;
}

function locked(waitMs: number): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new AppError('session.locked', `too many failed attempts: try again in ${retryAfterSeconds} seconds`, {
    retryAfterSeconds,
  });
}

/** Returns the address, or the /64 prefix of an IPv6 address, because one customer usually has a whole /64. */
export function networkOf(origin: string): string {
  if (!isIPv6(origin) || origin.startsWith('::ffff:')) return origin;
  const [before = [], after = []] = origin.split('::').map(part => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}

const purpose = 'known device';
/** Devices that signed in before the email was verified are not recognized afterwards. */
const signedText = ({ id, email_verified }: DeviceAccount, device: string) =>
  `${id} ${device}${email_verified ? '' : ' unverified'}`;

/** Returns the id in the device cookie, if that device has signed in to this account before. */
function findDevice({ signIn }: Deps, visitor: Visitor, account: DeviceAccount): string | undefined {
  const [device = '', signature = ''] = (visitor.deviceCookie(account.id) ?? '').split('.');
  return signIn.signer.isSigned(signature, signedText(account, device), purpose) ? device : undefined;
}

/** Returns the device cookie to set. A device that is already recognized keeps its id. */
export function deviceCookieFor(deps: Deps, visitor: Visitor, account: DeviceAccount): string {
  const device = findDevice(deps, visitor, account) ?? randomBytes(16).toString('base64url');
  return `${device}.${deps.signIn.signer.sign(signedText(account, device), purpose)}`;
}
