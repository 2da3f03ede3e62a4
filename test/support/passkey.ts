/** A passkey in software: simulates authenticator and browser, and forges single properties of a response on request. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Browser } from './accounts.ts';
import { type Answer, expectProblem } from './api.ts';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();

/** Properties that differ from a genuine response. */
export interface Forgery {
  origin?: string;
  rpId?: string;
  challenge?: string;
  type?: string;
  counter?: number;
  userVerified?: boolean;
  credentialId?: Buffer;
}

export class SoftwarePasskey {
  readonly id = randomBytes(32);
  readonly #origin: string;
  readonly #rpId: string;
  readonly #privateKey: KeyObject;
  readonly #coseKey: Buffer;
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
    this.#rpId = new URL(origin).hostname;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#privateKey = privateKey;
    const { x, y } = publicKey.export({ format: 'jwk' });
    // A CBOR map: kty EC2, alg ES256, crv P-256, x, y.
    this.#coseKey = Buffer.concat([
      Buffer.from('a5010203262001215820', 'hex'),
      Buffer.from(x!, 'base64url'),
      Buffer.from('225820', 'hex'),
      Buffer.from(y!, 'base64url'),
    ]);
  }

  /** Returns what `navigator.credentials.create` would return. */
  create(options: { challenge: string }, forgery: Forgery = {}) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, this.id, this.#coseKey]);
    const authData = Buffer.concat([this.#authenticatorData(0x40, forgery), attested]);
    // A CBOR map: fmt none, an empty attStmt, authData.
    const attestationObject = Buffer.concat([
      Buffer.from('a363666d74646e6f6e656761747453746d74a0686175746844617461', 'hex'),
      Buffer.from([0x58, authData.length]),
      authData,
    ]);
    const clientDataJSON = this.#clientData('webauthn.create', options.challenge, forgery);
    return this.#credential({
      clientDataJSON: clientDataJSON.toString('base64url'),
      attestationObject: attestationObject.toString('base64url'),
    });
  }

  /** Returns what `navigator.credentials.get` would return. */
  get(options: { challenge: string }, forgery: Forgery = {}) {
    this.#counter++;
    const authData = this.#authenticatorData(0, forgery);
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, forgery);
    const signature = sign('sha256', Buffer.concat([authData, sha256(clientDataJSON)]), this.#privateKey);
    const response = {
      clientDataJSON: clientDataJSON.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
    };
    return this.#credential(response, forgery.credentialId);
  }

  #credential<Response>(response: Response, credentialId: Buffer = this.id) {
    const id = credentialId.toString('base64url');
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
  }

  #clientData(type: string, challenge: string, forgery: Forgery): Buffer {
    const origin = forgery.origin ?? this.#origin;
    return Buffer.from(
      JSON.stringify({
        type: forgery.type ?? type,
        challenge: forgery.challenge ?? challenge,
        origin,
        crossOrigin: false,
      }),
    );
  }

  #authenticatorData(flags: number, forgery: Forgery): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(forgery.counter ?? this.#counter);
    const userVerified = forgery.userVerified === false ? 0 : 0x04;
    return Buffer.concat([sha256(forgery.rpId ?? this.#rpId), Buffer.from([0x01 | userVerified | flags]), counter]);
  }
}

/** Adds a new passkey to the account that is signed in. */
export async function addPasskey(browser: Browser, origin: string): Promise<SoftwarePasskey> {
  const passkey = new SoftwarePasskey(origin);
  const begun = await browser.ask({ method: 'POST', path: '/api/session/passkeys/options/' });
  const body = { token: begun.body.token, name: 'Software', response: passkey.create(begun.body.options) };
  const added = await browser.ask({ method: 'POST', path: '/api/session/passkeys/', body });
  if (added.status !== 201) throw new Error(`could not add the passkey: ${added.text}`);
  return passkey;
}

/** Signs in with the passkey alone. */
export async function signInWith(browser: Browser, passkey: SoftwarePasskey, forgery: Forgery = {}): Promise<Answer> {
  const begun = await browser.ask({ method: 'POST', path: '/api/session/passkey/options/' });
  const body = { token: begun.body.token, response: passkey.get(begun.body.options, forgery) };
  return browser.ask({ method: 'POST', path: '/api/session/passkey/', body });
}

export function expectRefused(answer: Answer): void {
  expectProblem(answer, 401, 'passkey.refused');
}
