/** What a browser keeps for us between two requests: sealed, so that nobody else can make or read it, and for a while. */
import type { Deps } from './deps.ts';

export function sealState({ cipher }: Pick<Deps, 'cipher'>, purpose: string, state: object, seconds: number): string {
  const text = JSON.stringify({ ...state, until: Date.now() + seconds * 1_000 });
  return cipher.seal(text, purpose).toString('base64url');
}

/** Undefined for what is not ours, of another key or purpose, or too old. */
export function openState<T>({ cipher }: Pick<Deps, 'cipher'>, purpose: string, sealed: string): T | undefined {
  try {
    const { until, ...state } = JSON.parse(cipher.open(Buffer.from(sealed, 'base64url'), purpose));
    return until > Date.now() ? state : undefined;
  } catch {
    return undefined;
  }
}
