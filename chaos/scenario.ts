import type { Ledger } from './ledger.ts';

export interface Scenario {
  /** What happens, in one sentence. */
  title: string;
  /** Takes minutes at any scale: a quick run includes it only if it is named. */
  isSlow?: true;
  /** `scale` is 1, or less for a quick run. */
  run(name: string, scale: number): Promise<Ledger>;
}

/** Thrown if a scenario cannot run here; the message says what is missing. */
export class Skipped extends Error {}
