/** Personal rules: how a user wants to be reached by notifications and steps with the channel `personal`, and when. */
import { type Static, Type } from 'typebox';
import { media } from '../configuration/nouns/schemas.ts';
import { durationPattern, parseDuration } from '../durations.ts';
import { optionalInteger } from '../optional.ts';

export const reachLimits = { rules: 10, messages: 10, hours: 12 } as const;

/** What can be sent by several rules: everything that people read. */
export const reachMedia = media.filter(medium => medium !== 'webhook');

const ReachRule = Type.Object(
  {
    by: Type.Enum(reachMedia, { description: 'Type of the channels.' }),
    after: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 90s, 10m or 2h',
        description: `How long after the notification or step is due, such as 5m; at most ${reachLimits.hours}h. Absent: immediately.`,
      }),
    ),
    repeat: optionalInteger({
      minimum: 1,
      maximum: reachLimits.messages,
      description: 'How many messages in total, `after` apart. Defaults to 1.',
    }),
  },
  { additionalProperties: false },
);

const rulesOf = (when: string) =>
  Type.Optional(
    Type.Array(ReachRule, {
      maxItems: reachLimits.rules,
      description: `Rules for ${when} notifications. Absent or empty: by all channels at once.`,
    }),
  );

export const Reach = Type.Object(
  { normal: rulesOf('other'), important: rulesOf('urgent') },
  {
    additionalProperties: false,
    description:
      'How the user is reached by notifications and steps with the channel `personal`, until someone acknowledges or resolves. ' +
      'Empty: by all channels at once.',
  },
);
export type ReachRule = Static<typeof ReachRule>;
export type Reach = Static<typeof Reach>;

/** Stored without sets that have no rules. */
export function normalizeReach({ normal = [], important = [] }: Reach): Reach {
  return { ...(normal.length > 0 && { normal }), ...(important.length > 0 && { important }) };
}

/** Returns the rules of a user without any as null. */
export function toStoredReach(reach: Reach | null): Reach | null {
  const rules = normalizeReach(reach ?? {});
  return Object.keys(rules).length > 0 ? rules : null;
}

/** Returns the mistakes that the schema cannot express, by their path below `reach`. */
export function findReachMistakes(reach: { [set: string]: unknown }): Record<string, string> {
  const mistakes: Record<string, string> = {};
  for (const set of ['normal', 'important'] as const) {
    if (!Array.isArray(reach[set])) continue;
    const messages = new Map<string, number>();
    for (const [i, rule] of (reach[set] as Partial<ReachRule>[]).entries()) {
      if (typeof rule !== 'object' || rule === null || typeof rule.by !== 'string') continue;
      const { by, after, repeat } = rule;
      const times = typeof repeat === 'number' ? repeat : 1;
      const afterMs = typeof after === 'string' ? (parseDuration(after) ?? 0) : 0;
      if (times > 1 && afterMs === 0) {
        mistakes[`${set}/${i}/after`] = 'is required for a repeated rule: it is the time between two messages';
      }
      if (afterMs * times > reachLimits.hours * 3_600_000) {
        mistakes[`${set}/${i}/after`] = `is too long: the last message must be at most ${reachLimits.hours}h later`;
      }
      const total = (messages.get(by) ?? 0) + times;
      messages.set(by, total);
      if (total > reachLimits.messages) {
        mistakes[`${set}/${i}`] = `leads to ${total} messages by ${by}: the maximum is ${reachLimits.messages}`;
      }
    }
  }
  return mistakes;
}

/** A message that rules ask for. */
interface ReachTime {
  by: string;
  afterMs: number;
}

/** Returns what the rules ask for, in the order of time. */
export function listReachTimes(rules: readonly ReachRule[]): ReachTime[] {
  return rules
    .flatMap(({ by, after, repeat = 1 }) => {
      const afterMs = after === undefined ? 0 : (parseDuration(after) ?? 0);
      return Array.from({ length: repeat }, (_, i) => ({ by, afterMs: afterMs * (i + 1) }));
    })
    .sort((a, b) => a.afterMs - b.afterMs);
}
