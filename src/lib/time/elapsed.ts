/**
 * Measures how long ago something was, for limits that must not be exceeded unnoticed. The monotonic clock cannot be set, but it
 * stands still while the machine is suspended; the wall clock does not. The longer of both is never too short.
 */
export interface Moment {
  monotonic: number;
  wall: number;
}

export function currentMoment(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

export function elapsedMs({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

/** How much earlier than in the database a claim ends here: for the time from the check to the first byte, and a slow clock. */
const claimMarginMs = 5_000;

/** A claim of rows that the database ends after a time. While it is valid, no other worker can have claimed them. */
export interface Claim {
  isValid(): boolean;
}

/** Call it before the statement that claims. */
export function startClaim(lastsMs: number): Claim {
  const began = currentMoment();
  return { isValid: () => elapsedMs(began) < lastsMs - claimMarginMs };
}
