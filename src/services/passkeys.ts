/** Passkeys (WebAuthn): a second factor, and with a fingerprint, face or PIN a way to sign in without a password. */
import { isIP } from 'node:net';
import { AppError } from '../core/errors.ts';
import { sha256 } from '../core/tokens.ts';
import type { Account } from '../db/accounts.ts';
import * as passkeys from '../db/passkeys.ts';
import type { Db } from '../db/pool.ts';
import { takeChallengeAcrossTenants } from '../db/two-factor.ts';
import {
  type AuthenticationResponseJSON,
  loadWebauthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
} from '../lib/webauthn.ts';
import type { Deps } from './deps.ts';
import { openState, sealState } from './sealed-state.ts';
import { recordEverywhere, requireConfirmed, type Session } from './sessions.ts';
import { addFactor, removeFactor } from './two-factor.ts';

export type { Passkey } from '../db/passkeys.ts';

/** To find the phone and put a finger on it. */
export const ceremonySeconds = 300;
const registration = 'registering a passkey';
/** More than anybody has devices. */
const mostPasskeys = 25;
/** Those that the specification knows; browsers may send others, which are of no use to them later. */
const knownTransports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const;
/** EdDSA, ES256 and RS256: between them, every authenticator there is. Those after quanta are experiments in Node.js. */
const algorithms = [-8, -7, -257];
type Transport = (typeof knownTransports)[number];

/** The address of the console, as the browser sees it: a passkey belongs to it. */
export interface Site {
  origin: string;
  /** A name: browsers refuse passkeys for bare network addresses. */
  host: string;
}

function requireName({ host, origin }: Site): string {
  if (isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0) return host;
  const local = origin.replace(host, 'localhost');
  const told = `browsers have no passkeys for ${host}: open the console by its name, such as ${local}, or set BASE_URL`;
  throw new AppError('passkey.unavailable', told);
}

const describe = ({ credential_id, transports }: passkeys.Passkey) => ({
  id: credential_id.toString('base64url'),
  transports: transports as Transport[],
});

/** What the browser is asked to make. */
export async function beginRegistration(
  deps: Deps,
  session: Session,
  site: Site,
): Promise<{ token: string; options: PublicKeyCredentialCreationOptionsJSON }> {
  const rpID = requireName(site);
  await requireConfirmed(deps, session);
  const { id, email, name } = session.account;
  const known = await passkeys.listPasskeysAcrossTenants(deps.db, id);
  if (known.length >= mostPasskeys) {
    throw new AppError('passkey.invalid', `there are ${mostPasskeys} passkeys already: remove one first`);
  }
  const { generateRegistrationOptions } = await loadWebauthn();
  const options = await generateRegistrationOptions({
    rpName: 'Belfry',
    rpID,
    userName: email,
    userDisplayName: name || email,
    // Of this installation and no other's, so that two of them at one address do not overwrite each other's.
    userID: Uint8Array.from(Buffer.from(deps.signIn.signer.sign(String(id), 'passkey user'), 'base64url')),
    attestationType: 'none',
    excludeCredentials: known.map(describe),
    supportedAlgorithmIDs: algorithms,
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    timeout: ceremonySeconds * 1_000,
  });
  return { token: sealState(deps, registration, { id, challenge: options.challenge }, ceremonySeconds), options };
}

/** Answers with recovery codes if this is the first second factor. */
export async function finishRegistration(
  deps: Deps,
  session: Session,
  site: Site,
  { token, response, name }: { token: string; response: object; name: string },
): Promise<{ passkey: passkeys.Passkey; recovery_codes: string[] | null }> {
  const { id } = session.account;
  const begun = openState<{ id: number; challenge: string }>(deps, registration, token);
  if (begun?.id !== id) throw tooLate();
  const { verifyRegistrationResponse } = await loadWebauthn();
  const given = response as RegistrationResponseJSON;
  const { registrationInfo } = await verifyRegistrationResponse({
    response: given,
    expectedChallenge: begun.challenge,
    expectedOrigin: site.origin,
    expectedRPID: requireName(site),
    requireUserVerification: false,
    supportedAlgorithmIDs: algorithms,
  }).catch(error => {
    throw new AppError('passkey.invalid', `the browser's answer is not valid: ${(error as Error).message}`);
  });
  if (!registrationInfo) throw new AppError('passkey.invalid', "the browser's answer is not valid");
  const { credential } = registrationInfo;
  let passkey: passkeys.Passkey | undefined;
  const recovery_codes = await addFactor(deps, session, 'add passkey', async trx => {
    passkey = await passkeys.createPasskeyAcrossTenants(trx, {
      account_id: id,
      credential_id: Buffer.from(credential.id, 'base64url'),
      public_key: Buffer.from(credential.publicKey),
      counter: credential.counter,
      transports: (credential.transports ?? []).filter(each => (knownTransports as readonly string[]).includes(each)),
      name,
    });
    if (!passkey) throw new AppError('passkey.invalid', 'this passkey has been added already');
  });
  return { passkey: passkey!, recovery_codes };
}

export async function renamePasskey(
  deps: Deps,
  { account }: Session,
  id: number,
  name: string,
): Promise<passkeys.Passkey> {
  return deps.db.transaction().execute(async trx => {
    const renamed = await passkeys.renamePasskeyAcrossTenants(trx, account.id, id, name);
    if (!renamed) throw unknownPasskey();
    await recordEverywhere(deps, trx, account, 'rename passkey', { name });
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
  return new AppError('passkey.not_found', 'there is no such passkey of yours, or it was removed');
}

/** For the passkeys of one account, or for whichever the browser has. */
export async function requestOptions(
  deps: Deps,
  site: Site,
  account?: Pick<Account, 'id'>,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { generateAuthenticationOptions } = await loadWebauthn();
  const allowed = account && (await passkeys.listPasskeysAcrossTenants(deps.db, account.id)).map(describe);
  return generateAuthenticationOptions({
    rpID: requireName(site),
    allowCredentials: allowed,
    userVerification: allowed ? 'preferred' : 'required',
    timeout: ceremonySeconds * 1_000,
  });
}

/**
 * The passkey that answered the challenge. As the only proof it must have seen a finger, a face or a PIN; beside a
 * password that somebody was there is enough.
 */
export async function verifyPasskey(
  deps: Deps,
  site: Site,
  { response, challenge, isOnlyProof }: { response: object; challenge: string; isOnlyProof: boolean },
): Promise<{ passkey: passkeys.Passkey; counter: number }> {
  const given = response as AuthenticationResponseJSON;
  const passkey = await passkeys.findPasskeyAcrossTenants(deps.db, Buffer.from(given.id, 'base64url'));
  if (!passkey) throw new AppError('passkey.refused', 'this passkey is not known here: it may have been removed');
  const { verifyAuthenticationResponse } = await loadWebauthn();
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: given,
    expectedChallenge: challenge,
    expectedOrigin: site.origin,
    expectedRPID: requireName(site),
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

/** A challenge is answered once: what somebody recorded opens nothing. */
export async function takePasskey(
  db: Db,
  { passkey, counter }: { passkey: passkeys.Passkey; counter: number },
  challenge: string,
): Promise<void> {
  const expiresAt = new Date(Date.now() + ceremonySeconds * 1_000);
  await db.transaction().execute(async trx => {
    if (!(await takeChallengeAcrossTenants(trx, sha256(challenge), expiresAt))) throw tooLate();
    await passkeys.touchPasskeyAcrossTenants(trx, passkey.id, counter);
  });
}

export function tooLate(): AppError {
  return new AppError('session.expired', 'this took too long, or was done already: begin again');
}
