/**
 * The rate guard: a key, event or application that triggers far more often than ever is paused. What is urgent has its own
 * limit and goes on until it exceeds that, too.
 */
import { type Static, Type } from 'typebox';

export const rateDefaults = {
  /** How many times the busiest hour so far is too many. */
  factor: 20,
  /** An hour counts for this long. */
  days: 30,
  /** Triggers in a minute that are never too many. */
  minRate: 1_000,
  /** For what was created less than `newHours` ago: nothing is known about it. */
  firstRate: 600_000,
  newHours: 24,
  /** How many times the limit of others applies to urgent triggers. */
  urgentFactor: 5,
} as const;

/** Returns a function that makes a field. Not a union, which would report each mistake once per branch. */
export const numberOrOff = (what: string, bounds: { minimum: number; maximum: number }) => (description: string) =>
  Type.Optional(
    Type.Unsafe<number | 'off'>({
      type: ['integer', 'string'],
      ...bounds,
      pattern: '^off$',
      patternHint: `must be a number of ${what}, or off`,
      description,
    }),
  );

const Rate = numberOrOff('triggers per minute', { minimum: 1, maximum: 1_000_000_000 });

/** Returns the fields of a `guard` that limit rates. */
export const rateFields = (whose: string, otherwise: string) => ({
  rate: Rate(
    `Triggers per minute, beyond which messages that are not urgent are held; \`off\`: never. ${whose} Absent: ${otherwise}; by ` +
      `default ${rateDefaults.factor} times the busiest hour of the last ${rateDefaults.days} days, but at least ${rateDefaults.minRate}.`,
  ),
  urgent_rate: Rate(
    `The same for urgent triggers, beyond which everything is held. Absent: ${rateDefaults.urgentFactor} times \`rate\`.`,
  ),
});

export const firstRateField = Rate(
  `The same for what was created less than ${rateDefaults.newHours} hours ago. Absent: ${rateDefaults.firstRate}.`,
);

export const ApplicationGuard = Type.Object(
  rateFields('Of the application, and of each of its events.', "the organization's"),
  {
    additionalProperties: false,
  },
);
export type ApplicationGuard = Static<typeof ApplicationGuard>;

interface Rates {
  rate?: number | 'off';
  urgent_rate?: number | 'off';
}

/** Whether it sets its own limits. Triggers then do not count for what is around it, which knows nothing of these limits. */
export const hasOwnRate = (guard: Rates | null): boolean =>
  guard?.rate !== undefined || guard?.urgent_rate !== undefined;

/** Triggers in a minute that are not too many. */
export interface RateLimits {
  normal: number;
  urgent: number;
}

/** How often something triggered before. */
export interface RateHistory {
  /** Triggers in its busiest full hour; null: none. */
  busiest: number | null;
  /** Whether it is too new to be judged by that. */
  isNew: boolean;
}

const toNumber = (rate: number | 'off') => (rate === 'off' ? Number.POSITIVE_INFINITY : rate);

/** Returns the limits of a subject. `guards` are its own and those around it, narrowest first. */
export function rateLimitsOf(
  guards: readonly (Rates | null)[],
  firstRate: number | 'off' | undefined,
  { busiest, isNew }: RateHistory,
): RateLimits {
  const { factor, minRate, urgentFactor } = rateDefaults;
  const own = guards.find(guard => guard?.rate !== undefined)?.rate;
  const learned = () =>
    isNew
      ? toNumber(firstRate ?? rateDefaults.firstRate)
      : Math.max(minRate, Math.floor((factor * (busiest ?? 0)) / 60));
  const normal = own === undefined ? learned() : toNumber(own);
  const urgent = guards.find(guard => guard?.urgent_rate !== undefined)?.urgent_rate;
  return { normal, urgent: urgent === undefined ? urgentFactor * normal : toNumber(urgent) };
}

/** Returns limits that are at most those of any history: below them, there is nothing to look up. */
export function minRateLimits(guards: readonly (Rates | null)[], firstRate: number | 'off' | undefined): RateLimits {
  const first = rateLimitsOf(guards, firstRate, { busiest: null, isNew: true });
  const later = rateLimitsOf(guards, firstRate, { busiest: null, isNew: false });
  return { normal: Math.min(first.normal, later.normal), urgent: Math.min(first.urgent, later.urgent) };
}

/**
 * What has paused a resource. `guard.rate`: the rate guard holds what is not urgent; `guard.rate_all`: it holds everything, because
 * there are too many urgent triggers, or someone paused it as well.
 */
export const pauseCauses = ['guard.rate', 'guard.rate_all'] as const;
export type PauseCause = (typeof pauseCauses)[number];

export interface ExceededRate {
  /** Triggers in this minute so far. */
  triggers: number;
  limit: number;
  cause: PauseCause;
}

/** Returns which limit is exceeded: that of urgent triggers first, because it holds everything. */
export function findExceeded(counts: RateLimits, limits: RateLimits): ExceededRate | undefined {
  if (counts.urgent > limits.urgent) return { triggers: counts.urgent, limit: limits.urgent, cause: 'guard.rate_all' };
  if (counts.normal > limits.normal) return { triggers: counts.normal, limit: limits.normal, cause: 'guard.rate' };
  return undefined;
}

/** Says why, for everyone who sees the pause. */
export function explainExceeded({ triggers, limit, cause }: ExceededRate): string {
  const [count, max] = [triggers, limit].map(number => number.toLocaleString('en'));
  return `${count} ${cause === 'guard.rate_all' ? 'urgent triggers' : 'triggers'} in a minute, and ${max} are allowed`;
}
