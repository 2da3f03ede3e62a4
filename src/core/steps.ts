/**
 * Steps: reach the person, then stop. A notification with steps tells people one step after the other, each a while after
 * the one before, until somebody acknowledges it, a condition says that it is no longer needed, or it gives up.
 */
import { type Static, Type } from 'typebox';
import { durationPattern, parseDuration } from './durations.ts';
import { expressionLimits, findFilterMistake } from './expressions.ts';
import { isObject } from './json.ts';
import { limits, slugPattern } from './text.ts';

export const stepLimits = { steps: 20, repeat: 20, runs: 50, giveUpDays: 7 } as const;
export const usualGiveUp = '24h';

/** What ends a wait by a word; anything else is an expression. */
export const unlessWords = ['sent', 'read', 'acknowledged'] as const;
type UnlessWord = (typeof unlessWords)[number];

const duration = (description: string) =>
  Type.String({
    pattern: durationPattern,
    patternHint: 'must be a duration such as 90s, 10m or 2h',
    description,
  });

export const Step = Type.Object(
  {
    after: Type.Optional(duration('How long after the step before, such as 10m. Absent: at once.')),
    unless: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: expressionLimits.source,
        description:
          'When the step is left out: `sent`, `read`, `acknowledged`, or JMESPath over `context`, `user`, `sent`, `read` and ' +
          '`deliveries`. Asked when the step is due. An acknowledgement ends every step, whatever stands here.',
      }),
    ),
    channels: Type.Array(
      Type.String({
        maxLength: limits.slug,
        pattern: slugPattern,
        patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
      }),
      { minItems: 1, maxItems: 100, description: 'Slugs or types.' },
    ),
    recipients: Type.Optional(
      Type.Object(
        {
          list: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S', patternHint: 'must not be blank' }),
        },
        { additionalProperties: false, description: "Whom this step tells. Absent: the notification's recipients." },
      ),
    ),
    repeat: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: stepLimits.repeat,
        description: 'How many times it runs in all, `after` apart. Absent: once.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Step = Static<typeof Step>;

export const Steps = Type.Array(Step, {
  minItems: 1,
  maxItems: stepLimits.steps,
  description: 'Instead of `channels`: one step after the other, until somebody acknowledges.',
});

export const GiveUpAfter = duration('Nothing is sent later than this after the trigger: 24h if absent, 7d at most.');

/** One time that a step runs: the second of a step that is repeated is a run of its own. */
export interface StepRun {
  /** From 1 on, over all steps. */
  number: number;
  /** Of the step, from 1 on. */
  step: number;
  /** After the run before. */
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
  return parseDuration(giveUpAfter ?? usualGiveUp) ?? parseDuration(usualGiveUp)!;
}

/** Whether a person is expected to answer: only then is an occurrence that nobody answered worth a look. */
export function asksForAcknowledgement(steps: readonly Pick<Step, 'unless'>[]): boolean {
  return steps.some(({ unless }) => unless === 'acknowledged');
}

/** The channels of all steps, each once. */
export function channelsOf(steps: readonly Pick<Step, 'channels'>[]): string[] {
  return [...new Set(steps.flatMap(({ channels }) => channels))];
}

export function isUnlessWord(unless: string): unless is UnlessWord {
  return (unlessWords as readonly string[]).includes(unless);
}

/** What a condition is asked about. */
export interface UnlessFacts {
  sent: boolean;
  read: boolean;
}

type Mistake = { at: string; message: string };

/** What is wrong with the steps of a notification beyond their form; `at` is relative to the notification. */
export function findStepMistakes(entry: { [field: string]: unknown }): Mistake[] {
  const mistakes: Mistake[] = [];
  const { channels, steps, give_up_after, notify_resolved } = entry;
  if (steps === undefined) {
    if (channels === undefined) mistakes.push({ at: 'channels', message: 'is required: give channels or steps' });
    if (give_up_after !== undefined) mistakes.push({ at: 'give_up_after', message: 'is only for steps' });
    if (notify_resolved !== undefined) mistakes.push({ at: 'notify_resolved', message: 'is only for steps' });
    return mistakes;
  }
  if (channels !== undefined) mistakes.push({ at: 'channels', message: 'give either channels or steps, not both' });
  if (entry.digest !== undefined) {
    mistakes.push({ at: 'digest', message: 'must be absent where there are steps: they have their own times' });
  }
  if (isObject(entry.throttle) && entry.throttle.overflow === 'digest') {
    mistakes.push({ at: 'throttle/overflow', message: 'must be drop where there are steps' });
  }
  if (!Array.isArray(steps)) return mistakes;
  for (const [i, step] of steps.entries()) {
    if (isObject(step)) mistakes.push(...findMistakesOf(step, `steps/${i}`));
  }
  if (mistakes.length > 0 || !steps.every(isObject)) return mistakes;
  return [...mistakes, ...findTimeMistakes(steps as Partial<Step>[], give_up_after)];
}

function findMistakesOf(step: { [field: string]: unknown }, at: string): Mistake[] {
  const { unless, repeat, after } = step;
  const mistakes: Mistake[] = [];
  if (typeof repeat === 'number' && repeat > 1 && after === undefined) {
    mistakes.push({
      at: `${at}/after`,
      message: 'is required where a step is repeated: it is the time between two runs',
    });
  }
  if (typeof unless !== 'string' || unless === '' || isUnlessWord(unless)) return mistakes;
  // A mistyped word would be the name of a field that nothing has.
  const mistake = /^\w+$/.test(unless)
    ? `must be ${unlessWords.join(', ')} or an expression such as context.severity == 'low'`
    : findFilterMistake(unless);
  if (mistake) mistakes.push({ at: `${at}/unless`, message: mistake });
  return mistakes;
}

function findTimeMistakes(steps: Partial<Step>[], giveUpAfter: unknown): Mistake[] {
  if (giveUpAfter !== undefined && typeof giveUpAfter !== 'string') return [];
  const mistakes: Mistake[] = [];
  const most = stepLimits.giveUpDays * 86_400_000;
  const until = giveUpMs(giveUpAfter);
  if (until > most) mistakes.push({ at: 'give_up_after', message: `must be ${stepLimits.giveUpDays}d at most` });
  const repeats = steps.map(({ repeat }) => (typeof repeat === 'number' && repeat <= stepLimits.repeat ? repeat : 1));
  const runs = listRuns(steps.map((step, i) => ({ after: step.after, repeat: repeats[i] })));
  if (runs.length > stepLimits.runs) {
    mistakes.push({
      at: 'steps',
      message: `run ${runs.length} times with all repeats: ${stepLimits.runs} is the most`,
    });
  }
  const total = runs.reduce((sum, { afterMs }) => sum + afterMs, 0);
  if (until <= most && total > until) {
    const given = typeof giveUpAfter === 'string' ? giveUpAfter : usualGiveUp;
    const message = `take ${inMinutes(total)} in all, longer than give_up_after (${given}): shorten them, or raise it`;
    mistakes.push({ at: 'steps', message });
  }
  return mistakes;
}

function inMinutes(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes < 60 ? `${minutes}m` : `${Math.floor(minutes / 60)}h${minutes % 60 ? ` ${minutes % 60}m` : ''}`;
}
