/** Describes steps in plain sentences and lists when they run if no one responds. */
import { texts } from '../texts/designer.ts';
import type { DraftStep } from './draft.ts';

const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Returns the duration in seconds; undefined if it is not a duration. */
function secondsOf(duration: string): number | undefined {
  const [, number, unit] = /^([1-9]\d{0,8})([smhd])$/.exec(duration) ?? [];
  return number ? Number(number) * units[unit!]! : undefined;
}

export function describeStep(
  { after, unless, channels, list, schedule, repeat, roundRobin }: DraftStep,
  i: number,
): string {
  const when = after === '' ? texts.immediately : i === 0 ? texts.afterTriggerBy(after) : texts.laterBy(after);
  const how = channels.length > 0 ? texts.via(channels.join(', ')) : texts.viaNoChannelYet;
  const whom = list ? texts.toList(list) : schedule ? texts.toOnCall(schedule) : '';
  const condition = unless === undefined ? '' : (conditions[unless] ?? texts.ifNot(unless));
  const often = repeat > 1 ? texts.runCount(repeat) : '';
  const turns = roundRobin ? texts.inTurn : '';
  return [`${when} ${how}`, whom, turns, often, condition].filter(Boolean).join(', ');
}

const conditions: Record<string, string> = {
  acknowledged: texts.ifNotAcknowledged,
  read: texts.ifNotRead,
  sent: texts.ifNotSent,
};

/** Lists every run of every step with its time after the trigger: 0:00, 0:10. */
export function listRuns(steps: readonly DraftStep[]): { number: number; clock: string; channels: string[] }[] {
  let at = 0;
  let number = 0;
  return steps.flatMap(({ after, repeat, channels }) =>
    Array.from({ length: Math.max(1, Math.min(20, repeat)) }, () => {
      at += secondsOf(after) ?? 0;
      number++;
      return { number, clock: clock(at), channels };
    }),
  );
}

function clock(seconds: number): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(seconds / 3_600);
  const rest = seconds % 60 === 0 ? '' : `:${two(seconds % 60)}`;
  return `${hours}:${two(Math.floor((seconds % 3_600) / 60))}${rest}`;
}
