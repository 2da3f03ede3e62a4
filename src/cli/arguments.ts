/** Reads the arguments of commands. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { parseDuration } from '../core/durations.ts';
import { lookUp } from '../core/lookup.ts';
import { type Command, usageError } from './command.ts';

/** Kinds of options: with a value, with any number of values, and without one. */
export const string = { type: 'string' } as const;
export const strings = { type: 'string', multiple: true } as const;
export const flag = { type: 'boolean' } as const;

/** Reads options and other arguments. */
export function readArguments<Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  return parseArgs({ args, options, allowPositionals: true });
}

/** Reads options, of a command that has no other arguments. */
export function readOptions<Options extends ParseArgsOptionsConfig>(args: string[], options: Options) {
  return parseArgs({ args, options }).values;
}

/** Returns the `run` of a command whose first argument names an action. */
export function runAction(command: string, actions: Record<string, Command['run']>): Command['run'] {
  return ([action = '', ...args], terminal) => {
    const run = lookUp(actions, action);
    if (run) return run(args, terminal);
    const names = Object.keys(actions);
    throw usageError(`choose ${names.slice(0, -1).join(', ')} or ${names.at(-1)}: see \`belfry help ${command}\``);
  };
}

export function requireOption(command: string, option: string, value: string | undefined): string {
  if (!value) throw usageError(`${option} is missing: see \`belfry help ${command}\``);
  return value;
}

/** Returns the only argument, or ends with `message` if there is none or more than one. */
export function onlyOf([first, ...others]: string[], message: string): string {
  if (!first || others.length > 0) throw usageError(message);
  return first;
}

export function oneOf<T extends string>(
  option: string,
  allowed: readonly T[],
  value: string | undefined,
): T | undefined {
  const found = allowed.find(each => each === value);
  if (value !== undefined && !found) throw usageError(`${option} must be one of ${allowed.join(', ')}`);
  return found;
}

/** Reads the time of an option. */
export function parseTime(option: string, value: string | undefined): Date | undefined {
  if (value === undefined) return undefined;
  const time = readTime(value);
  if (time === undefined) throw usageError(`${option} must be a time such as 2026-01-31 or 2026-01-31T08:00:00Z`);
  return new Date(time);
}

/** Returns undefined also for days that do not exist: JavaScript reads 30 February as 2 March. */
function readTime(text: string): number | undefined {
  const [day, time] = [Date.parse(text.slice(0, 10)), Date.parse(text)];
  if (Number.isNaN(day) || Number.isNaN(time)) return undefined;
  return new Date(day).toISOString().startsWith(text.slice(0, 10)) ? time : undefined;
}

/** Reads a time, or a duration from now on. Undefined or empty: it never expires. */
export function parseExpiry(value: string | undefined): Date | null {
  if (!value) return null;
  const duration = parseDuration(value);
  const at = duration ? Date.now() + duration : readTime(value);
  if (at === undefined)
    throw usageError('--expires must be a duration such as 90d or a time such as 2030-01-31T09:00:00Z');
  return new Date(at);
}
