/**
 * The audience guard: an occurrence with far more recipients than its event has ever had waits for an approval before anything is
 * sent. The audience is the number of recipients who would get a message; one who gets two notifications counts twice.
 */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from '../../durations.ts';
import { optionalBoolean } from '../../optional.ts';
import { firstRateField, numberOrOff, rateFields } from './rate-guard.ts';

export const guardDefaults = {
  /** How many times the largest audience so far is too many. */
  factor: 10,
  /** The same history counts for this long. */
  days: 90,
  /** Audiences up to this size are never far larger than before. */
  minAudience: 1_000,
  /** For an event without history. */
  firstAudience: 5_000,
  /** How long an occurrence waits for an approval. */
  expiresMs: 24 * 3_600_000,
} as const;

/** Bounded by the column's type. */
export const maxAudience = 2_000_000_000;
/** Shorter than the minimum retention, so that a held occurrence is never dropped with its partition. */
const maxExpiresDays = 30;

const Audience = numberOrOff('recipients', { minimum: 0, maximum: maxAudience });

export const EventGuard = Type.Object(
  {
    audience: Audience(
      'An occurrence with more recipients waits for an approval; `off`: none does. ' +
        `Absent: the organization's, or else ${guardDefaults.factor} times the largest audience of the last ${guardDefaults.days} days, ` +
        `but at least ${guardDefaults.minAudience}.`,
    ),
    ...rateFields('Of the event.', "the application's, or else the organization's"),
  },
  { additionalProperties: false },
);
export type EventGuard = Static<typeof EventGuard>;

export const OrganizationGuard = Type.Object(
  {
    audience: Audience('For events that do not set their own.'),
    first_audience: Audience(
      `For events that were not triggered in the last ${guardDefaults.days} days. Absent: ${guardDefaults.firstAudience}.`,
    ),
    ...rateFields('For applications and events that do not set their own, and for each API key.', 'the default'),
    first_rate: firstRateField,
    expires: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 90m or 24h',
        description: `How long an occurrence waits for an approval before it fails: at most ${maxExpiresDays}d. Absent: 24h.`,
      }),
    ),
    four_eyes: optionalBoolean({
      description: 'Whether the person or API key that triggered an occurrence must not approve it. Defaults to false.',
    }),
  },
  { additionalProperties: false },
);
export type OrganizationGuard = Static<typeof OrganizationGuard>;

/** Returns the mistakes that the schema cannot express, by field. */
export function findGuardMistakes({ expires }: { expires?: unknown }): Record<string, string> {
  const ms = typeof expires === 'string' ? (parseDuration(expires) ?? 0) : 0;
  return ms > maxExpiresDays * 86_400_000 ? { expires: `must be at most ${maxExpiresDays}d` } : {};
}

export interface Guards {
  event: EventGuard | null;
  organization: OrganizationGuard | null;
}

const toNumber = (audience: number | 'off') => (audience === 'off' ? Number.POSITIVE_INFINITY : audience);

/** Returns the size of the largest audience that is sent without an approval. `largest` is null without history. */
export function maxUnapproved({ event, organization }: Guards, largest: number | null): number {
  const own = event?.audience ?? organization?.audience;
  if (own !== undefined) return toNumber(own);
  const { factor, minAudience, firstAudience } = guardDefaults;
  if (largest === null) return toNumber(organization?.first_audience ?? firstAudience);
  return Math.min(Math.max(minAudience, factor * largest), maxAudience);
}

/** Returns the same for any history: an audience up to this size needs none. */
export function minUnapproved(guards: Guards): number {
  return Math.min(maxUnapproved(guards, null), maxUnapproved(guards, 0));
}

export function expiresMsOf({ organization }: Guards): number {
  return (organization?.expires && parseDuration(organization.expires)) || guardDefaults.expiresMs;
}

/** Reasons of occurrences that are held until they are approved: the end of a pause does not release them. */
export const guardReasons = ['guard.audience', 'guard.canary'] as const;

export const isGuarded = (reason: string | null): boolean =>
  (guardReasons as readonly (string | null)[]).includes(reason);

interface Holdable {
  status: string;
  /** Null: it has no due time. */
  due_at: Date | null;
  reason: string | null;
}

/** Returns whether an occurrence waits for an approval. */
export function isHeldByGuard({ status, due_at, reason }: Holdable): boolean {
  return (status === 'accepted' || status === 'expanding') && due_at === null && isGuarded(reason);
}

/**
 * States of a hold. `waiting`: a canary waits for what becomes of its sample. `released`: the exact count was below the threshold, or the
 * sample went well. `ended`: the occurrence was cancelled or expired.
 */
export const holdStates = [
  'waiting',
  'counting',
  'held',
  'approved',
  'rejected',
  'expired',
  'released',
  'ended',
] as const;
export type HoldState = (typeof holdStates)[number];
export const openHoldStates = ['counting', 'held'] as const satisfies readonly HoldState[];
