/** State that the browser keeps between two requests: encrypted, authenticated and with an expiry. */
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';

export function sealState({ cipher }: Pick<Deps, 'cipher'>, purpose: string, state: object, seconds: number): string {
  const text = JSON.stringify({ ...state, until: currentTime() + seconds * 1_000 });
  return cipher.seal(text, purpose).toString('base64url');
}

/** Returns undefined when the state is forged, sealed with another key or for another purpose, or expired. */
export function openState<T>({ cipher }: Pick<Deps, 'cipher'>, purpose: string, sealed: string): T | undefined {
  try {
    const { until, ...state } = JSON.parse(cipher.open(Buffer.from(sealed, 'base64url'), purpose));
    return until > currentTime() ? state : undefined;
  } catch {
    return undefined;
  }
}
