/** Layers as they are typed: a line for each turn, and one for each restriction. */
import type { Schedule } from '../../api-types.ts';

export type Layer = Schedule['layers'][number];

export interface DraftLayer {
  name: string;
  every: string;
  from: string;
  /** Empty: never. */
  until: string;
  turns: string;
  only: string;
}

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
/** Stands for the turn of no one. */
const noOne = '-';
type Window = NonNullable<Layer['only']>[number];

export function toDraftLayer({ name, every, from, until = '', users, only = [] }: Layer): DraftLayer {
  return {
    ...{ name, every, from, until },
    turns: users.map(turn => (typeof turn === 'string' ? turn : turn.join(', ') || noOne)).join('\n'),
    only: only
      .map(window => [writeDays(window.days), `${window.from}-${window.until}`].filter(Boolean).join(' '))
      .join('\n'),
  };
}

/** Returns the layer, and the first line that cannot be read. */
export function readLayer({ name, every, from, until, turns, only }: DraftLayer): { layer: Layer; wrong?: string } {
  const windows = linesOf(only).map(line => ({ line, window: readWindow(line) }));
  const wrong = windows.find(({ window }) => !window)?.line;
  const layer: Layer = {
    name: name.trim(),
    every: every.trim(),
    from,
    ...(until && { until }),
    users: linesOf(turns).map(line => {
      const users = line.split(/[\s,;]+/).filter(name => name !== '' && name !== noOne);
      return users.length === 1 ? users[0]! : users;
    }),
    ...(windows.length > 0 && { only: windows.flatMap(({ window }) => window ?? []) }),
  };
  return { layer, ...(wrong !== undefined && { wrong }) };
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}

/** Reads `mon-fri 18:00-09:00`; without days, every day. */
function readWindow(line: string): Window | undefined {
  const [, list, from, until] = /^(?:([a-z,\s-]+?)\s+)?(\d?\d:\d\d)\s*[-–]\s*(\d?\d:\d\d)$/i.exec(line) ?? [];
  if (!from || !until) return undefined;
  const times = { from: from.padStart(5, '0'), until: until.padStart(5, '0') };
  if (list === undefined) return times;
  const named = list
    .toLowerCase()
    .split(/[,\s]+/)
    .map(readDays);
  return named.some(one => one === undefined)
    ? undefined
    : { days: [...new Set(named.flatMap(one => one!))], ...times };
}

/** Reads `mon` or `mon-fri`; a range may go over Sunday. */
function readDays(text: string): Window['days'] {
  const [first, last = first, ...others] = text.split('-').map(day => (days as readonly string[]).indexOf(day));
  if (first === undefined || last === undefined || first < 0 || last < 0 || others.length > 0) return undefined;
  const count = ((last - first + 7) % 7) + 1;
  return Array.from({ length: count }, (_, i) => days[(first + i) % 7]!);
}

function writeDays(named: Window['days']): string {
  if (!named) return '';
  const numbers = named.map(day => days.indexOf(day)).sort((a, b) => a - b);
  const [first, last] = [numbers[0]!, numbers.at(-1)!];
  const isRange = numbers.length > 2 && last - first === numbers.length - 1;
  return isRange ? `${days[first]}-${days[last]}` : numbers.map(number => days[number]).join(',');
}
