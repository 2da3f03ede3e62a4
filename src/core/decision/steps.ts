/**
 * Steps (escalation): a notification with steps notifies one step after the other, each some time after the previous one,
 * until it is acknowledged or resolved, a condition skips the rest, or the time limit passes.
 */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from '../durations.ts';
import { expressionLimits, findFilterMistake } from '../expressions/expressions.ts';
import { isObject } from '../json.ts';
import { scheduleLimits } from '../oncall/schedule-rules.ts';
import { optionalBoolean, optionalInteger, optionalString } from '../optional.ts';
import { limits, slugPattern } from '../text/text.ts';
import { personal } from './decide.ts';

/** The numbers of an occurrence's runs are below this. */
export const runLimit = 3_200;

/**
 * Returns what is stored as the step of a delivery: the number of the run, and how many messages to the same address the recipient's own
 * rules ask for before this one.
 */
export function writeRun(number: number, turn = 0): number {
  return number + turn * runLimit;
}

/** SQL text of the number of the run. */
export const runText = (step: string) => `(${step} % ${runLimit}::smallint)`;

export const stepLimits = { steps: 20, repeat: 20, runs: 50, giveUpDays: 7, expiresDays: 7 } as const;
/** Recipients among whom a step with `round_robin` rotates. */
export const rotationLimit = 500;
const defaultGiveUpAfter = '24h';

/** The keywords of `unless`; any other value is an expression. */
const unlessKeywords = ['sent', 'read', 'acknowledged'] as const;
type UnlessKeyword = (typeof unlessKeywords)[number];

const duration = (description: string) =>
  Type.String({
    pattern: durationPattern,
    patternHint: 'must be a duration such as 90s, 10m or 2h',
    description,
  });

/** The users on call when the message is due. */
export const onCallRecipients = {
  schedule: optionalString({
    maxLength: limits.slug,
    pattern: slugPattern,
    description: 'Slug of the schedule of the project whose users are on call when it is due.',
  }),
  offset: optionalInteger({
    minimum: 0,
    maximum: scheduleLimits.offset,
    description: 'Instead, the users on call after so many changes: 1 for the next ones. Defaults to 0.',
  }),
};

/** A list of slugs or types; the word `personal` alone stands for a list of it: see `toList`. */
export function channelsField(description: string) {
  return Type.Unsafe<string[]>({
    type: ['array', 'string'],
    items: {
      type: 'string',
      maxLength: limits.slug,
      pattern: slugPattern,
      patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
    },
    minItems: 1,
    maxItems: 100,
    pattern: `^${personal}$`,
    patternHint: `must be a list, or ${personal}`,
    description,
  });
}

const toList = (channels: string[] | string): string[] => (typeof channels === 'string' ? [channels] : channels);

/** Returns the channels of a notification, and its steps with the channels of each: its own, or the notification's. */
export function completeSteps<Entry extends Pick<StepEntry, 'channels'>>(
  channels: string[] | string = [],
  steps?: readonly Entry[],
): { channels: string[]; steps?: (Entry & { channels: string[] })[] } {
  const shared = toList(channels);
  if (!steps) return { channels: shared };
  const complete = steps.map(step => ({ ...step, channels: toList(step.channels ?? shared) }));
  return { channels: channelsOf(complete), steps: complete };
}

export const Step = Type.Object(
  {
    after: Type.Optional(duration('How long after the previous step, such as 10m. Defaults to immediately.')),
    unless: optionalString({
      minLength: 1,
      maxLength: expressionLimits.source,
      description:
        'When to skip the step: `sent`, `read`, `acknowledged`, or JMESPath over `context`, `user`, `sent`, `read` and ' +
        '`deliveries`. Evaluated when the step is due. An acknowledgement always ends all steps.',
    }),
    channels: Type.Optional(channelsField("Slugs or types. Defaults to the notification's `channels`.")),
    recipients: Type.Optional(
      Type.Object(
        {
          list: optionalString({
            minLength: 1,
            maxLength: limits.name,
            pattern: '\\S',
            patternHint: 'must not be blank',
          }),
          ...onCallRecipients,
        },
        {
          additionalProperties: false,
          minProperties: 1,
          description: "Recipients of this step. Defaults to the notification's recipients.",
        },
      ),
    ),
    repeat: optionalInteger({
      minimum: 1,
      maximum: stepLimits.repeat,
      description: 'How many times the step runs in total, `after` apart. Defaults to 1.',
    }),
    round_robin: optionalBoolean({
      description:
        'Whether each run notifies only one recipient: the next one who can be notified. Each occurrence begins ' +
        `with another one. Only the first ${rotationLimit} recipients take part. Defaults to false.`,
    }),
  },
  { additionalProperties: false },
);
/** As written: see `completeSteps`. */
export type StepEntry = Static<typeof Step>;
export interface Step extends StepEntry {
  channels: string[];
}

export const Steps = Type.Array(Step, {
  minItems: 1,
  maxItems: stepLimits.steps,
  description:
    'Steps to run one after the other until the occurrence is acknowledged; each sends on `channels` unless it has its own.',
});

export const GiveUpAfter = duration(
  'Nothing is sent later than this after the trigger. Defaults to 24h; the maximum is 7d.',
);

export const AcknowledgementExpires = duration(
  'How long an acknowledgement holds: unless the occurrence is resolved by then, the steps run again. Absent: for good; the ' +
    'maximum is 7d.',
);

export const Ack = Type.Enum(['each'], {
  description:
    '`each`: the steps end for a recipient only when this recipient acknowledges, and the occurrence is acknowledged when everyone ' +
    'who was notified has. Absent: one acknowledgement ends the steps for everyone.',
});

/** One run of a step; each repetition is a separate run. */
export interface StepRun {
  /** Number of the run over all steps, from 1. */
  number: number;
  /** Number of the step, from 1. */
  step: number;
  /** Delay after the previous run. */
  afterMs: number;
}

export function listRuns(steps: readonly Pick<Step, 'after' | 'repeat'>[]): StepRun[] {
  const runs: StepRun[] = [];
  for (const [i, { after, repeat = 1 }] of steps.entries()) {
    const afterMs = after === undefined ? 0 : (parseDuration(after) ?? 0);
    for (let n = 0; n < repeat; n++) runs.push({ number: runs.length + 1, step: i + 1, afterMs });
  }
  return runs;
}

export function giveUpMs(giveUpAfter: string | null | undefined): number {
  return parseDuration(giveUpAfter ?? defaultGiveUpAfter) ?? parseDuration(defaultGiveUpAfter)!;
}

/** Returns whether an acknowledgement is expected: only then can an occurrence be reported as unacknowledged. */
export function asksForAcknowledgement(steps: readonly Pick<Step, 'unless'>[]): boolean {
  return steps.some(({ unless }) => unless === 'acknowledged');
}

/** Returns the channels of all steps, without duplicates. */
export function channelsOf(steps: readonly Pick<Step, 'channels'>[]): string[] {
  return [...new Set(steps.flatMap(({ channels }) => channels))];
}

export function isUnlessKeyword(unless: string): unless is UnlessKeyword {
  return (unlessKeywords as readonly string[]).includes(unless);
}

type Mistake = { at: string; message: string };

/** Returns the mistakes in a notification's steps that the schema cannot express; `at` is relative to the notification. */
export function findStepMistakes(entry: { [field: string]: unknown }): Mistake[] {
  const mistakes: Mistake[] = [];
  const { channels, steps, give_up_after, notify_resolved, acknowledgement_expires: expires, ack } = entry;
  const isPersonal = channels === personal || (Array.isArray(channels) && channels.includes(personal));
  if (steps === undefined && !isPersonal) {
    if (channels === undefined) mistakes.push({ at: 'channels', message: 'is required: set channels or steps' });
    if (give_up_after !== undefined) mistakes.push({ at: 'give_up_after', message: 'is only allowed with steps' });
    if (expires !== undefined) mistakes.push({ at: 'acknowledgement_expires', message: 'is only allowed with steps' });
    if (ack !== undefined) mistakes.push({ at: 'ack', message: 'is only allowed with steps' });
    if (notify_resolved !== undefined) mistakes.push({ at: 'notify_resolved', message: 'is only allowed with steps' });
    return mistakes;
  }
  const [digest, overflow] =
    steps === undefined ? ['the channel personal', 'the channel is personal'] : ['steps', 'there are steps'];
  if (entry.digest !== undefined) mistakes.push({ at: 'digest', message: `cannot be combined with ${digest}` });
  if (isObject(entry.throttle) && entry.throttle.overflow === 'digest') {
    mistakes.push({ at: 'throttle/overflow', message: `must be drop when ${overflow}` });
  }
  if (typeof expires === 'string' && (parseDuration(expires) ?? 0) > stepLimits.expiresDays * 86_400_000) {
    mistakes.push({ at: 'acknowledgement_expires', message: `must be at most ${stepLimits.expiresDays}d` });
  }
  if (steps === undefined) return [...mistakes, ...findTimeMistakes([], give_up_after)];
  if (!Array.isArray(steps)) return mistakes;
  for (const [i, step] of steps.entries()) {
    if (!isObject(step)) continue;
    if (step.channels === undefined && channels === undefined)
      mistakes.push({ at: `steps/${i}/channels`, message: 'is required: set it here, or for all steps beside them' });
    mistakes.push(...findMistakesInStep(step, `steps/${i}`));
  }
  if (channels !== undefined && steps.every(step => isObject(step) && step.channels !== undefined)) {
    mistakes.push({ at: 'channels', message: 'is not used: every step has its own channels' });
  }
  if (mistakes.length > 0 || !steps.every(isObject)) return mistakes;
  return [...mistakes, ...findTimeMistakes(steps as Partial<Step>[], give_up_after)];
}

function findMistakesInStep(step: { [field: string]: unknown }, at: string): Mistake[] {
  const { unless, repeat, after } = step;
  const mistakes: Mistake[] = [];
  if (typeof repeat === 'number' && repeat > 1 && after === undefined) {
    mistakes.push({
      at: `${at}/after`,
      message: 'is required for a repeated step: it is the time between two runs',
    });
  }
  if (typeof unless !== 'string' || unless === '' || isUnlessKeyword(unless)) return mistakes;
  // A misspelt keyword would be a valid expression: the name of a field that does not exist.
  const mistake = /^\w+$/.test(unless)
    ? `must be ${unlessKeywords.join(', ')} or an expression such as context.severity == 'low'`
    : findFilterMistake(unless);
  if (mistake) mistakes.push({ at: `${at}/unless`, message: mistake });
  return mistakes;
}

function findTimeMistakes(steps: Partial<Step>[], giveUpAfter: unknown): Mistake[] {
  if (giveUpAfter !== undefined && typeof giveUpAfter !== 'string') return [];
  const mistakes: Mistake[] = [];
  const maxMs = stepLimits.giveUpDays * 86_400_000;
  const until = giveUpMs(giveUpAfter);
  if (until > maxMs) mistakes.push({ at: 'give_up_after', message: `must be at most ${stepLimits.giveUpDays}d` });
  const repeats = steps.map(({ repeat }) => (typeof repeat === 'number' && repeat <= stepLimits.repeat ? repeat : 1));
  const runs = listRuns(steps.map((step, i) => ({ after: step.after, repeat: repeats[i] })));
  if (runs.length > stepLimits.runs) {
    mistakes.push({
      at: 'steps',
      message: `run ${runs.length} times including repeats: the maximum is ${stepLimits.runs}`,
    });
  }
  const total = runs.reduce((sum, { afterMs }) => sum + afterMs, 0);
  if (until <= maxMs && total > until) {
    const limit = typeof giveUpAfter === 'string' ? giveUpAfter : defaultGiveUpAfter;
    const message = `take ${formatMinutes(total)} in total, longer than give_up_after (${limit}): shorten them, or raise it`;
    mistakes.push({ at: 'steps', message });
  }
  return mistakes;
}

function formatMinutes(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 60 ? `${minutes}m` : `${Math.floor(minutes / 60)}h${minutes % 60 ? ` ${minutes % 60}m` : ''}`;
}
