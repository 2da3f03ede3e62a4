/** Passkeys in the browser. Browsers have none at a bare network address, nor without TLS but for localhost. */
import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
  WebAuthnError,
} from '@simplewebauthn/browser';
import { texts } from './texts/account.ts';

export function supportsPasskeys(): boolean {
  const isAddress = /^[\d.]+$|^\[/.test(location.hostname);
  return !isAddress && browserSupportsWebAuthn();
}

/** Why there are none here; undefined when there are. */
export function passkeyObstacle(): string | undefined {
  if (supportsPasskeys()) return undefined;
  if (/^127\.|^\[::1\]$/.test(location.hostname)) {
    return texts.passkeysNeedAHostNameOpen(location.origin.replace(location.hostname, 'localhost'));
  }
  return window.isSecureContext ? texts.thisBrowserOrTheAddressOf : texts.passkeysNeedHttpsAndAHost;
}

async function ceremony<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw new Error(explain(error), { cause: error });
  }
}

function explain(error: unknown): string {
  if (error instanceof WebAuthnError && error.code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED') {
    return texts.thisDeviceAlreadyHasAPasskey;
  }
  const { name, message } = error as Error;
  if (name === 'NotAllowedError' || name === 'AbortError') return texts.thePasskeyRequestWasCancelledOr;
  return message;
}

export function createPasskey(options: object) {
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON;
  return ceremony(() => startRegistration({ optionsJSON }));
}

export function askPasskey(options: object) {
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON;
  return ceremony(() => startAuthentication({ optionsJSON }));
}
