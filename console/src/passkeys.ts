/** Passkeys in the browser. They need a host name instead of an IP address, and TLS except on localhost. */
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { texts } from './texts/account.ts';

export function supportsPasskeys(): boolean {
  const isAddress = /^[\d.]+$|^\[/.test(location.hostname);
  return !isAddress && typeof window.PublicKeyCredential === 'function';
}

/** Returns why passkeys are unavailable; undefined if they are available. */
export function passkeyProblem(): string | undefined {
  if (supportsPasskeys()) return undefined;
  if (/^127\.|^\[::1\]$/.test(location.hostname)) {
    return texts.passkeysNeedHostName(location.origin.replace(location.hostname, 'localhost'));
  }
  return window.isSecureContext ? texts.passkeysUnsupported : texts.passkeysNeedHttps;
}

/** Loaded when it is used: most people who sign in have none. */
const library = () => import('@simplewebauthn/browser');

async function ceremony<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw new Error(explain(error), { cause: error });
  }
}

function explain(error: unknown): string {
  const { name, message, code } = error as Error & { code?: string };
  if (code === 'ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED') return texts.passkeyExists;
  if (name === 'NotAllowedError' || name === 'AbortError') return texts.passkeyCancelled;
  return message;
}

export function createPasskey(options: object) {
  const optionsJSON = options as PublicKeyCredentialCreationOptionsJSON;
  return ceremony(async () => (await library()).startRegistration({ optionsJSON }));
}

export function requestPasskey(options: object) {
  const optionsJSON = options as PublicKeyCredentialRequestOptionsJSON;
  return ceremony(async () => (await library()).startAuthentication({ optionsJSON }));
}
