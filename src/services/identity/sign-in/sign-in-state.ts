/** In-memory state of signing in. */
import type { Db } from '../../../db/connection/pool.ts';
import { touchSessionsAcrossTenants } from '../../../db/identity/sessions.ts';
import { LastUsedTimes } from '../../../lib/caching/last-used-times.ts';
import { FailureCount } from '../../../lib/load/failure-count.ts';
import { FairBudget } from '../../../lib/load/fair-budget.ts';
import type { Background } from '../../../lib/process/background.ts';
import type { Oidc } from '../../../lib/secrets/oidc.ts';
import { Passwords } from '../../../lib/secrets/passwords.ts';
import type { Signer } from '../../../lib/secrets/signer.ts';

/** Limits per network address, which many users may share: more than they mistype within the window. */
const maxFailuresPerAddress = 100;
const maxResetsPerAddress = 20;
/** Sign-ins that wait for the identity provider at once, for up to 10 s each. One client gets half of it. */
export const maxExchanges = 50;
const failureWindowMs = 15 * 60_000;

/** Dependencies of signing in besides the database; one per process. */
export interface SignIn {
  signer: Signer;
  passwords: Passwords;
  /** Failed sign-ins by network address. */
  failures: FailureCount;
  /** Requested password resets by network address. */
  resets: FailureCount;
  use: SessionUse;
  /** For work whose duration would reveal whether an account exists. */
  background: Background;
  /** Undefined when no identity provider is configured. */
  oidc: Oidc | undefined;
  /** Requests to the identity provider, by network address. */
  exchanges: FairBudget<string>;
}

export function createSignIn(signer: Signer, background: Background, oidc?: Oidc): SignIn {
  const failures = new FailureCount(maxFailuresPerAddress, failureWindowMs);
  const exchanges = new FairBudget<string>(maxExchanges);
  const resets = new FailureCount(maxResetsPerAddress, failureWindowMs);
  return { signer, passwords: new Passwords(), failures, resets, use: new SessionUse(), background, oidc, exchanges };
}

/** Tracks when sessions were last used and writes it periodically instead of on every request. */
export class SessionUse {
  readonly #uses = new LastUsedTimes();

  note(tokenHash: Buffer, at: number): void {
    this.#uses.record(tokenHash.toString('base64'), at);
  }

  lastUse(tokenHash: Buffer): number {
    return this.#uses.lastUse(tokenHash.toString('base64'));
  }

  flush(db: Db): Promise<void> {
    return this.#uses.flush(used =>
      touchSessionsAcrossTenants(
        db,
        used.map(([hash, at]) => ({ tokenHash: Buffer.from(hash, 'base64'), at: new Date(at) })),
      ),
    );
  }
}
