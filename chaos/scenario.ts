import type { Ledger } from './ledger.ts';

export interface Scenario {
  /** What happens, in words. */
  title: string;
  /** `scale` is 1, or less for a quick run. */
  run(name: string, scale: number): Promise<Ledger>;
}

/** Not done for want of something, which the message names. */
export class Skipped extends Error {}
