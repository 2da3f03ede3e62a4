/** A user's personal rules, as sentences and as rows of the form. */
import { parseDuration } from '../../../../src/core/durations.ts';
import type { Profile } from '../../api-types.ts';
import { texts } from '../../texts/reach.ts';

export type Reach = NonNullable<Profile['reach']>;
type Rule = NonNullable<Reach['normal']>[number];

export const reachSets = ['important', 'normal'] as const;

export interface DraftRule {
  by: string;
  /** Empty while it is edited: now. */
  minutes: number | string;
  /** Empty while it is edited: once. */
  times: number | string;
}

const secondsOf = (after: string) => (parseDuration(after) ?? 0) / 1_000;

/** Returns the rules as a sentence: Email now, 3 calls every 3 minutes. */
export function describeRules(rules: readonly Rule[]): string {
  const text = rules.map(describeRule).join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function describeRule({ by, after, repeat = 1 }: Rule): string {
  const message = texts.messages[by] ?? by;
  if (after === undefined) return texts.now(message);
  const time = timeOf(secondsOf(after));
  return repeat > 1 ? texts.every(repeat, message, time) : texts.after(message, time);
}

function timeOf(seconds: number): string {
  if (seconds % 3_600 === 0) return texts.hours(seconds / 3_600);
  return seconds % 60 === 0 ? texts.minutes(seconds / 60) : texts.seconds(seconds);
}

export function toDraftRule({ by, after = '0s', repeat = 1 }: Rule): DraftRule {
  return { by, minutes: secondsOf(after) / 60, times: repeat };
}

export function readRule({ by, minutes, times }: DraftRule): Rule {
  const seconds = Math.round(Number(minutes) * 60);
  const repeat = Number(times);
  return { by: by as Rule['by'], ...(seconds > 0 && { after: durationOf(seconds) }), ...(repeat > 1 && { repeat }) };
}

function durationOf(seconds: number): string {
  if (seconds % 3_600 === 0) return `${seconds / 3_600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
