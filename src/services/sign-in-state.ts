/** What a process remembers for signing in. */
import type { Db } from '../db/pool.ts';
import { touchSessionsAcrossTenants } from '../db/sessions.ts';
import { FailureCount } from '../lib/failure-count.ts';
import { LastUses } from '../lib/last-uses.ts';
import type { Oidc } from '../lib/oidc.ts';
import { Passwords } from '../lib/passwords.ts';
import type { Signer } from '../lib/signer.ts';

/** Many people may share a network address; no person mistypes so often. */
const failuresOfAddress = 100;
const resetsOfAddress = 20;
const failureWindowMs = 15 * 60_000;

/** What signing in needs besides the database; one for each process. */
export interface SignIn {
  signer: Signer;
  passwords: Passwords;
  /** Of guesses, by network address. */
  failures: FailureCount;
  /** Of password resets that were asked for, by network address. */
  resets: FailureCount;
  use: SessionUse;
  /** If there is an identity provider. */
  oidc: Oidc | undefined;
}

export function createSignIn(signer: Signer, oidc?: Oidc): SignIn {
  const failures = new FailureCount(failuresOfAddress, failureWindowMs);
  const resets = new FailureCount(resetsOfAddress, failureWindowMs);
  return { signer, passwords: new Passwords(), failures, resets, use: new SessionUse(), oidc };
}

/** Remembers which sessions were used when, and writes it down now and then instead of on every request. */
export class SessionUse {
  readonly #uses = new LastUses();

  note(tokenHash: Buffer, at: number): void {
    this.#uses.note(tokenHash.toString('base64'), at);
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
