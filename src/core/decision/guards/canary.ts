/**
 * The canary: a notification is sent to a random sample of its recipients first. After a while, what became of the sample decides
 * whether the others get it too, or whether someone has to approve that.
 */
import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from '../../durations.ts';
import { optionalInteger } from '../../optional.ts';
import {
  describeVariants,
  judgeVariants,
  percent,
  type VariantCounts,
  type VariantFigures,
  type VariantName,
  Variants,
  type WinnerKind,
} from './variants.ts';

export const canaryLimits = {
  /** The ranks of the sample are kept while the audience is counted. */
  maxFirst: 5_000,
  /** With fewer recipients than this many times the sample, all get it at once. */
  minFactor: 2,
  maxWaitDays: 7,
  /** Below this share of attempted messages, the figures say too little: it waits longer. */
  minAttempted: 0.5,
} as const;

const defaults = { first: 200, wait: '10m', failed: '5%', bounced: '2%', complained: '0.3%' } as const;

const percentPattern = '^(100|[0-9]{1,2}(\\.[0-9]{1,2})?)%$';

const Share = (what: string, standard: string) =>
  Type.Optional(
    Type.String({
      pattern: percentPattern,
      patternHint: 'must be a share such as 5% or 0.3%',
      description: `Share of ${what}, such as ${standard}, from which on it stops. Absent: ${standard}.`,
    }),
  );

export const Canary = Type.Object(
  {
    first: optionalInteger({
      minimum: 1,
      maximum: canaryLimits.maxFirst,
      description:
        `How many recipients, chosen at random, get the message first. Absent: ${defaults.first}. Unless there are at least ` +
        `${canaryLimits.minFactor} times as many recipients, all get it at once.`,
    }),
    wait: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 10m or 2h',
        description: `How long the others wait: at most ${canaryLimits.maxWaitDays}d. Absent: ${defaults.wait}.`,
      }),
    ),
    stop_at: Type.Optional(
      Type.Object(
        {
          failed: Share(
            'messages that failed, whose outcome is unknown, or whose last attempt failed',
            defaults.failed,
          ),
          bounced: Share('messages that bounced after the provider had accepted them', defaults.bounced),
          complained: Share('messages that were reported as spam', defaults.complained),
        },
        { additionalProperties: false },
      ),
    ),
    variants: Type.Optional(
      Type.Unsafe<Variants>({
        ...Variants,
        description:
          'Sends each half of the sample another variant of the message, and the better one to the others. Absent: there is one message.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Canary = Static<typeof Canary>;

interface Entry {
  canary?: unknown;
  steps?: unknown;
  digest?: unknown;
  throttle?: unknown;
  priority?: unknown;
}

/** Returns the mistakes that the schema cannot express, by path. */
export function findCanaryMistakes({ canary, steps, digest, throttle, priority }: Entry): Record<string, string> {
  if (typeof canary !== 'object' || canary === null) return {};
  const { wait, first, variants } = canary as { wait?: unknown; first?: unknown; variants?: unknown };
  const isLong = typeof wait === 'string' && (parseDuration(wait) ?? 0) > canaryLimits.maxWaitDays * 86_400_000;
  const collects = (throttle as { overflow?: unknown } | null | undefined)?.overflow === 'digest';
  const conflict = steps
    ? 'has steps: their recipients are decided when each is due'
    : digest || collects
      ? 'sends digests: their messages wait anyway'
      : priority === 'urgent'
        ? 'has the priority urgent: urgent messages do not wait'
        : undefined;
  return {
    ...(conflict && { canary: `must be absent when the notification ${conflict}` }),
    ...(first === 1 &&
      variants !== undefined && { 'canary/first': 'must be at least 2, because there are two variants' }),
    ...(isLong && { 'canary/wait': `must be at most ${canaryLimits.maxWaitDays}d` }),
  };
}

export const stopKinds = ['failed', 'bounced', 'complained'] as const;
export type StopKind = (typeof stopKinds)[number];

/** Settings with their defaults: times in milliseconds, shares from 0 to 1. */
export interface CanaryRule {
  first: number;
  waitMs: number;
  stopAt: Record<StopKind, number>;
  /** What decides between two variants of the message. Absent: there is one. */
  winnerBy?: WinnerKind;
}

export function canaryRule({
  first = defaults.first,
  wait = defaults.wait,
  stop_at = {},
  variants,
}: Canary): CanaryRule {
  const share = (kind: StopKind) => Number((stop_at[kind] ?? defaults[kind]).slice(0, -1)) / 100;
  const stopAt = { failed: share('failed'), bounced: share('bounced'), complained: share('complained') };
  return { first, waitMs: parseDuration(wait)!, stopAt, ...(variants && { winnerBy: variants.winner_by }) };
}

/**
 * `counting`: all recipients are decided, which finds the sample; notifications without a canary are sent. `sampling`: the sample is
 * expanded. `waiting`: for what becomes of it. `rest`: the others are expanded.
 */
export type CanaryStage = 'counting' | 'sampling' | 'waiting' | 'rest';

/** The canary of a notification during an expansion, with the settings from when it began. */
export interface Sampled extends CanaryRule {
  name: string;
  /** Recipients counted so far. */
  audience: number;
  /** The lowest ranks so far, while counting. */
  ranks?: string[];
  /** The rank of the last recipient in the sample; null: there is no sample, and all are sent at once. */
  upTo: string | null;
  /** The rank of the last recipient in the sample who gets the first variant, if there are two. */
  splitAt?: string;
  /** The variant that the others get. */
  winner?: VariantName;
}

export interface CanaryState {
  stage: CanaryStage;
  /** By the ids of the notifications. */
  notifications: Record<string, Sampled>;
  /** When the sample was sent, in milliseconds since 1970. */
  sampledAt?: number;
}

/** Returns the rank of a recipient: as good as random, and the same in each pass. The lowest ranks are the sample. */
export function rankOf(occurrenceId: string, notificationId: number, userId: number): string {
  return hash('sha256', `${occurrenceId} ${notificationId} ${userId}`).slice(0, 12);
}

/** Adds recipients of a page to what was counted. */
export function countRanks({ ...sampled }: Sampled, added: readonly string[]): Sampled {
  const ranks = [...new Set([...(sampled.ranks ?? []), ...added])].sort().slice(0, sampled.first);
  return { ...sampled, audience: sampled.audience + added.length, ranks };
}

/** Returns whether an audience is large enough to send to a sample first. */
export const isLarge = ({ first }: Pick<CanaryRule, 'first'>, audience: number): boolean =>
  audience >= canaryLimits.minFactor * first;

/** Ends the count: returns who is in the sample. */
export function drawSample({ ranks = [], ...sampled }: Sampled): Sampled {
  const upTo = (isLarge(sampled, sampled.audience) && ranks[sampled.first - 1]) || null;
  const splitAt = upTo === null || !sampled.winnerBy ? undefined : ranks[Math.ceil(sampled.first / 2) - 1];
  return { ...sampled, upTo, ...(splitAt !== undefined && { splitAt }) };
}

/** Returns which variant of the message a recipient gets; undefined unless there are two. */
export function variantFor({ splitAt, winner }: Sampled, stage: CanaryStage, rank: string): VariantName | undefined {
  if (splitAt === undefined) return undefined;
  if (stage === 'rest') return winner;
  return rank <= splitAt ? 'a' : 'b';
}

/** What became of the sample of a notification when it was decided. */
export interface CanaryFigures extends Partial<VariantFigures> {
  notification: string;
  /** Recipients of the notification. */
  audience: number;
  /** Messages of the sample, without those that were suppressed or cancelled. */
  messages: number;
  /** Those with at least one attempt. */
  attempted: number;
  failed: number;
  bounced: number;
  complained: number;
  /** Why it stopped; absent: it did not. */
  stopped_by?: (StopKind | 'attempted')[];
  /** The shares from which on it stops. */
  stop_at: Record<StopKind, number>;
}

export interface SampleCounts extends Pick<CanaryFigures, 'messages' | 'attempted' | StopKind> {
  /** Empty unless there are two. */
  variants: VariantCounts[];
}

/** `wait`: too few messages were attempted. */
export type Verdict = { decision: 'go' | 'wait' | 'stop'; figures: CanaryFigures[] };

/** Decides after the wait. `isLast`: it has waited long enough for messages that were not attempted. */
export function judge(
  state: CanaryState,
  countsOf: (notificationId: string) => SampleCounts,
  isLast: boolean,
): Verdict {
  const figures = Object.entries(state.notifications).map(
    ([id, { name, audience, stopAt, winnerBy }]): CanaryFigures => {
      const { variants, ...counts } = countsOf(id);
      const isReached = (kind: StopKind) => counts[kind] > 0 && counts[kind] >= stopAt[kind] * counts.attempted;
      const isUncertain = counts.attempted < canaryLimits.minAttempted * counts.messages;
      const stopped_by = [...stopKinds.filter(isReached), ...(isUncertain ? (['attempted'] as const) : [])];
      return {
        ...{ notification: name, audience, ...counts, stop_at: stopAt },
        ...(stopped_by.length > 0 && { stopped_by }),
        ...(winnerBy && judgeVariants(winnerBy, variants)),
      };
    },
  );
  const isStopped = figures.some(({ stopped_by }) => stopped_by?.some(kind => kind !== 'attempted'));
  const isUncertain = figures.some(({ stopped_by }) => stopped_by?.includes('attempted'));
  if (isUncertain && !isLast) return { decision: 'wait', figures };
  return { decision: isStopped || isUncertain ? 'stop' : 'go', figures };
}

/** Describes the figures of each notification: "21 of 200 messages failed (10.5%; stops at 5%)", and which variant is better. */
export function describeFigures(figures: readonly CanaryFigures[]): string[] {
  return figures.map(one => {
    const { winner_by, variants, winner } = one;
    return [
      describeSample(one),
      ...(winner_by && variants && winner ? [describeVariants({ winner_by, variants, winner })] : []),
    ].join(' ');
  });
}

function describeSample({
  notification,
  messages,
  attempted,
  stop_at,
  stopped_by = [],
  ...counts
}: CanaryFigures): string {
  const parts = stopKinds
    .filter(kind => counts[kind] > 0 || stopped_by.includes(kind))
    .map(kind => {
      const limit = stopped_by.includes(kind) ? `; stops at ${percent(stop_at[kind])}` : '';
      return `${counts[kind]} ${verbs[kind]} (${percent(counts[kind] / attempted)}${limit})`;
    });
  const attempts =
    attempted === messages
      ? `the sample had ${messages === 1 ? '1 message' : `${messages} messages`}`
      : `${attempted} of the ${messages} messages of the sample were attempted`;
  const too = stopped_by.includes('attempted') ? ', too few to decide' : '';
  return `${notification}: ${attempts}${too}; ${parts.length > 0 ? parts.join(', ') : 'none failed'}.`;
}

const verbs: Record<StopKind, string> = { failed: 'failed', bounced: 'bounced', complained: 'were reported as spam' };
