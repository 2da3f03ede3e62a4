/** Service levels: how many calls of senders are taken in, and how soon the first page of an alert leaves. */
import { type Static, Type } from 'typebox';

export const serviceLevelDefaults = { taken_in: '99.9%', first_page: { within: '10s', share: '99%' } } as const;

const share = (description: string) =>
  Type.Optional(
    Type.String({
      pattern: '^[5-9][0-9](\\.[0-9]{1,3})?%$',
      patternHint: 'must be a share from 50% to 99.999%, such as 99.9%',
      description,
    }),
  );

const closed = { additionalProperties: false };

export const ServiceLevels = Type.Object(
  {
    taken_in: share(
      `How many calls of senders are to be stored, of those that were not refused for their content. Absent: ${serviceLevelDefaults.taken_in}.`,
    ),
    first_page: Type.Optional(
      Type.Object(
        {
          within: Type.Optional(
            Type.String({
              pattern: '^([1-9][0-9]{0,2}s|[1-9]m|10m)$',
              patternHint: 'must be a duration from 1s to 10m, such as 10s',
              description: `How soon a provider is to accept the first message of an urgent occurrence. Absent: ${serviceLevelDefaults.first_page.within}.`,
            }),
          ),
          share: share(
            `How many urgent occurrences are to keep to it. Absent: ${serviceLevelDefaults.first_page.share}.`,
          ),
        },
        closed,
      ),
    ),
  },
  closed,
);
export type ServiceLevels = Static<typeof ServiceLevels>;

export interface Targets {
  taken_in: string;
  first_page: { within: string; share: string };
}

export function targetsOf(levels: ServiceLevels | null): Targets {
  const { taken_in, first_page } = serviceLevelDefaults;
  return { taken_in: levels?.taken_in ?? taken_in, first_page: { ...first_page, ...levels?.first_page } };
}

/** Parses a share such as 99.9%. */
export function parseShare(text: string): number {
  return Number(text.slice(0, -1)) / 100;
}

export interface Level {
  /** What counts for the level. */
  total: number;
  missed: number;
  /** From 0 to 1; null: nothing was counted. */
  share: number | null;
  is_met: boolean;
  /** The part of the allowed misses that is left, from 0 to 1; null: nothing was counted. */
  budget_left: number | null;
}

export function levelOf(total: number, missed: number, target: string): Level {
  if (total === 0) return { total, missed, share: null, is_met: true, budget_left: null };
  const share = (total - missed) / total;
  // Rounded, because 1 - 0.999 is not exactly 0.001.
  const allowed = Number((total * (1 - parseShare(target))).toFixed(6));
  return { total, missed, share, is_met: missed <= allowed, budget_left: Math.max(0, 1 - missed / allowed) };
}

/** States of a watch, which rehearses an event. */
export const watchStates = ['off', 'new', 'ok', 'failing', 'silent'] as const;
export type WatchState = (typeof watchStates)[number];

/** What became of a call of a sender: refused is the sender's fault, and failed is Belfry's. */
export const callResults = ['taken', 'failed', 'refused'] as const;
export type CallResult = (typeof callResults)[number];

/** `isAnswered`: false if the caller hung up before. A limit or an overload counts as failed: the alert was not taken. */
export function callResultOf(status: number, isAnswered = true): CallResult {
  if (!isAnswered || status === 429 || status >= 500) return 'failed';
  return status < 400 ? 'taken' : 'refused';
}
