/** Passkeys (WebAuthn): a second factor and, with user verification, a way to sign in without a password. */
import { isIP } from 'node:net';
import { AppError } from '../../../core/errors.ts';
import { sha256 } from '../../../core/identity/tokens.ts';
import type { Db } from '../../../db/connection/pool.ts';
import type { Account } from '../../../db/identity/accounts.ts';
import * as passkeys from '../../../db/identity/passkeys.ts';
import { takeChallengeAcrossTenants } from '../../../db/identity/two-factor.ts';
import {
  type AuthenticationResponseJSON,
  loadWebauthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '../../../lib/secrets/webauthn.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { recordInAllOrganizations, requestExpired, requireConfirmed, type Session } from '../sessions.ts';
import { openState, sealState } from './sealed-state.ts';
import { addFactor, removeFactor } from './two-factor.ts';

export type { Passkey } from '../../../db/identity/passkeys.ts';

/** Time to complete a WebAuthn ceremony. */
export const ceremonySeconds = 300;
const registrationPurpose = 'registering a passkey';
/** Per account: more than any user has devices. */
const maxPasskeys = 25;
/** Transports of the specification. Others that browsers may send are not stored. */
const standardTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;
/** EdDSA, ES256 and RS256 cover all authenticators. Node.js supports post-quantum algorithms only experimentally. */
const algorithms = [-8, -7, -257];
type Transport = (typeof standardTransports)[number];

/** The address of the console as the browser sees it, to which passkeys are bound. */
export interface Site {
  origin: string;
  /** Browsers refuse passkeys when this is an IP address. */
  host: string;
}

function requireHostName({ host, origin }: Site): string {
  if (isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0) return host;
  const local = origin.replace(host, 'localhost');
  throw new AppError(
    'passkey.unavailable',
    `browsers do not support passkeys at the IP address ${host}: open the console by a host name, such as ${local}, or set BASE_URL`,
  );
}

const toDescriptor = ({ credential_id, transports }: passkeys.Passkey) => ({
  id: credential_id.toString('base64url'),
  transports: transports as Transport[],
});

/** Returns the options for the browser to create a passkey. */
export async function beginRegistration(
  deps: Deps,
  session: Session,
  site: Site,
): Promise<{ token: string; options: PublicKeyCredentialCreationOptionsJSON }> {
  const rpID = requireHostName(site);
  await requireConfirmed(deps, session);
  const { id, email, name } = session.account;
  const existing = await requireRoom(deps.db, id);
  const { generateRegistrationOptions } = await loadWebauthn();
  const options = await generateRegistrationOptions({
    rpName: 'Belfry',
    rpID,
    userName: email,
    userDisplayName: name || email,
    // Unique per installation, so that two installations on one host name do not overwrite each other's passkeys.
    userID: Uint8Array.from(Buffer.from(deps.signIn.signer.sign(String(id), 'passkey user'), 'base64url')),
    attestationType: 'none',
    excludeCredentials: existing.map(toDescriptor),
    supportedAlgorithmIDs: algorithms,
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    timeout: ceremonySeconds * 1_000,
  });
  return {
    token: sealState(deps, registrationPurpose, { id, challenge: options.challenge }, ceremonySeconds),
    options,
  };
}

/** Returns the passkeys of an account. Throws when it cannot have another one. */
async function requireRoom(db: Db, accountId: number): Promise<passkeys.Passkey[]> {
  const existing = await passkeys.listPasskeysAcrossTenants(db, accountId);
  if (existing.length < maxPasskeys) return existing;
  throw new AppError('passkey.invalid', `an account can have at most ${maxPasskeys} passkeys: remove one first`);
}

/** Adds the passkey. Returns recovery codes if it is the account's first second factor. */
export async function finishRegistration(
  deps: Deps,
  session: Session,
  site: Site,
  { token, response, name }: { token: string; response: object; name: string },
): Promise<{ passkey: passkeys.Passkey; recovery_codes: string[] | null }> {
  const { id } = session.account;
  const state = openState<{ id: number; challenge: string }>(deps, registrationPurpose, token);
  if (state?.id !== id) throw new AppError('session.expired', 'adding the passkey timed out: start again');
  const { verifyRegistrationResponse } = await loadWebauthn();
  const { registrationInfo } = await verifyRegistrationResponse({
    response: response as RegistrationResponseJSON,
    expectedChallenge: state.challenge,
    expectedOrigin: site.origin,
    expectedRPID: requireHostName(site),
    requireUserVerification: false,
    supportedAlgorithmIDs: algorithms,
  }).catch(error => {
    throw new AppError('passkey.invalid', `the browser's response is not valid: ${(error as Error).message}`);
  });
  if (!registrationInfo) throw new AppError('passkey.invalid', "the browser's response is not valid");
  const { credential } = registrationInfo;
  let passkey: passkeys.Passkey | undefined;
  const recovery_codes = await addFactor(deps, session, 'add passkey', async trx => {
    await takeChallenge(trx, state.challenge);
    await requireRoom(trx, id);
    passkey = await passkeys.createPasskeyAcrossTenants(trx, {
      account_id: id,
      credential_id: Buffer.from(credential.id, 'base64url'),
      public_key: Buffer.from(credential.publicKey),
      counter: credential.counter,
      transports: (credential.transports ?? []).filter(each =>
        (standardTransports as readonly string[]).includes(each),
      ),
      name,
      rp_id: requireHostName(site),
    });
    if (!passkey) throw new AppError('passkey.invalid', 'this passkey is already registered');
  });
  return { passkey: passkey!, recovery_codes };
}

export async function renamePasskey(deps: Deps, { account }: Session, id: number, name: string) {
  return deps.db.transaction().execute(async trx => {
    const renamed = await passkeys.renamePasskeyAcrossTenants(trx, account.id, id, name);
    if (!renamed) throw unknownPasskey();
    await recordInAllOrganizations(deps, trx, account, 'rename passkey', { name });
    return renamed;
  });
}

export async function removePasskey(deps: Deps, session: Session, id: number): Promise<void> {
  await requireConfirmed(deps, session);
  await removeFactor(deps, session, 'remove passkey', async trx => {
    if (!(await passkeys.deletePasskeyAcrossTenants(trx, session.account.id, id))) throw unknownPasskey();
  });
}

function unknownPasskey(): AppError {
  return new AppError('passkey.not_found', 'passkey not found: it may have been removed');
}

/** Returns the options for signing in with a passkey of the account, or with any passkey when there is no account yet. */
export async function createRequestOptions(
  deps: Deps,
  site: Site,
  account?: Pick<Account, 'id'>,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadWebauthn();
  const rpID = requireHostName(site);
  const all = account && (await passkeys.listPasskeysAcrossTenants(deps.db, account.id));
  const allowed = all?.filter(({ rp_id }) => rp_id === null || rp_id === rpID).map(toDescriptor);
  if (allowed?.length === 0) throw new AppError('passkey.unavailable', `no passkey of the account is for ${rpID}`);
  return generateAuthenticationOptions({
    rpID,
    allowCredentials: allowed,
    userVerification: allowed ? 'preferred' : 'required',
    timeout: ceremonySeconds * 1_000,
  });
}

/**
 * Verifies the response to a challenge and returns the passkey. As the only proof it requires user verification (fingerprint,
 * face or PIN); after a password, user presence is enough.
 */
export async function verifyPasskey(
  deps: Deps,
  site: Site,
  { response, challenge, isOnlyProof }: { response: object; challenge: string; isOnlyProof: boolean },
): Promise<{ passkey: passkeys.Passkey; counter: number }> {
  const answer = response as AuthenticationResponseJSON;
  const passkey = await passkeys.findPasskeyAcrossTenants(deps.db, Buffer.from(answer.id, 'base64url'));
  if (!passkey) throw new AppError('passkey.refused', 'this passkey is not registered: it may have been removed');
  const { verifyAuthenticationResponse } = await loadWebauthn();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: answer,
    expectedChallenge: challenge,
    expectedOrigin: site.origin,
    expectedRPID: requireHostName(site),
    requireUserVerification: isOnlyProof,
    credential: {
      id: passkey.credential_id.toString('base64url'),
      publicKey: Uint8Array.from(passkey.public_key),
      counter: passkey.counter,
      transports: passkey.transports as Transport[],
    },
  }).catch(error => {
    throw new AppError('passkey.refused', `the passkey was not accepted: ${(error as Error).message}`);
  });
  if (!verified) throw new AppError('passkey.refused', 'the passkey was not accepted');
  return { passkey, counter: authenticationInfo.newCounter };
}

/** Marks a challenge as used, so that a recorded response cannot be replayed. */
async function takeChallenge(trx: Db, challenge: string): Promise<void> {
  const expiresAt = new Date(currentTime() + ceremonySeconds * 1_000);
  if (!(await takeChallengeAcrossTenants(trx, sha256(challenge), expiresAt))) throw requestExpired();
}

/** Marks the challenge as used and stores the passkey's counter. */
export async function recordPasskeyUse(
  db: Db,
  { passkey, counter }: { passkey: passkeys.Passkey; counter: number },
  challenge: string,
): Promise<void> {
  await db.transaction().execute(async trx => {
    await takeChallenge(trx, challenge);
    if (!(await passkeys.touchPasskeyAcrossTenants(trx, passkey.id, counter))) {
      throw new AppError('passkey.refused', 'the passkey was removed or used at the same time elsewhere: start again');
    }
  });
}
