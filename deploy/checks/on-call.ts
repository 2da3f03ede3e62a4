/**
 * Compares who is on call with a second implementation, in Python and from the definition, at 10,000 instants over three years, in
 * zones with odd rules; half of them are within an hour of a hand-over or of a change of the clocks.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Layer } from '../../src/core/oncall/rotation.ts';
import { compileSchedule, listShifts, type Override, whoIsOnCall } from '../../src/core/oncall/schedule.ts';
import { dayMs, hourMs } from '../../src/core/oncall/zone.ts';
import { hasProgram, Skipped } from './support.ts';

/** Half hours, changes at midnight, changes by half an hour, none at all, and both hemispheres. */
const zones = [
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'America/Santiago',
  'America/Havana',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Pacific/Chatham',
  'Atlantic/Azores',
];
const schedulesPerZone = 17;
const instantsPerSchedule = 50;
const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
const begin = Date.UTC(2026, 0, 1);
const span = 3 * 365 * dayMs;

/** Returns numbers from 0 to 1 that are the same in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

export function checkOnCall(): Promise<string> {
  if (!hasProgram('python3')) throw new Skipped('python3 is not installed');
  const random = seeded(20_270_104);
  const below = (max: number) => Math.floor(random() * max);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)]!;
  const pad = (number: number) => String(number).padStart(2, '0');
  const clock = () => `${pad(below(24))}:${pick(['00', '30', '15'])}`;
  // Hand-overs at 0, 2 and 3 o'clock fall into changes of the clocks.
  const local = () =>
    `20${26 + below(2)}-${pad(below(12) + 1)}-${pad(below(28) + 1 + below(4) * Number(random() > 0.9))}`.replace(
      /-(3[2-9])$/,
      '-28',
    );
  const date = () => {
    const text = local();
    return new Date(`${text}T00:00Z`).toISOString().startsWith(text) ? text : text.replace(/\d\d$/, '28');
  };
  const layerOf = (name: string): Layer => ({
    name,
    every: pick(['1d', '1d', '1w', '2w', '1mo', '12h', '8h', '36h', '3d', '2mo']),
    from: `${date()}T${pick(['00:00', '02:00', '02:30', '03:00', '09:00', clock()])}`,
    ...(random() < 0.2 && { until: `2028-${pad(below(12) + 1)}-15T02:30` }),
    users: Array.from({ length: 1 + below(5) }, (_, i) =>
      random() < 0.2 ? [`${name}${i}`, `${name}x`] : `${name}${i}`,
    ),
    ...(random() < 0.5 && {
      only: Array.from({ length: 1 + below(2) }, () => ({
        ...(random() < 0.6 && {
          days: days.filter((day, i) => i === below(7) || day === pick(days) || random() < 0.4),
        }),
        from: pick(['00:00', '18:00', '02:30', clock()]),
        until: pick(['24:00', '09:00', '02:30', '00:00', clock()]),
      })).map(({ days: some, ...window }) => ({ ...window, ...(some?.length && { days: some }) })),
    }),
  });
  const cases = zones.flatMap(timezone =>
    Array.from({ length: schedulesPerZone }, () => {
      const layers = Array.from({ length: 1 + below(4) }, (_, i) => layerOf('abcd'[i]!));
      const overrides = Array.from({ length: below(3) }, (_, id): Override => {
        const from = begin + below(span / 60_000) * 60_000;
        return {
          id,
          user: `o${id}`,
          replaces: random() < 0.5 ? 'a0' : null,
          from,
          until: from + below(30 * 24) * hourMs + hourMs,
        };
      });
      const rules = { timezone, layers, combine: pick(['cover', 'all'] as const) };
      const schedule = compileSchedule(rules, overrides);
      const changes = [...listShifts(schedule, begin, begin + span).map(({ from }) => from), ...clockChanges(timezone)];
      const instants = Array.from({ length: instantsPerSchedule }, (_, i) =>
        i % 2 === 0
          ? begin + below(span / 1_000) * 1_000
          : pick(changes) + pick([0, -1_000, below(7_200) * 1_000 - hourMs]),
      );
      return { rules, overrides, instants, answers: instants.map(instant => whoIsOnCall(schedule, instant).users) };
    }),
  );
  const seconds = (ms: number) => ms / 1_000;
  const input = cases.map(({ rules, overrides, instants }) => ({
    ...rules,
    overrides: overrides.map(one => ({ ...one, from: seconds(one.from), until: seconds(one.until) })),
    instants: instants.map(seconds),
  }));
  const output = execFileSync('python3', [path.join(import.meta.dirname, 'on_call.py')], {
    input: JSON.stringify(input),
    maxBuffer: 2 ** 26,
    timeout: 300_000,
    encoding: 'utf8',
  });
  const lines = output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as string[][]);
  let count = 0;
  let taken = 0;
  for (const [i, { rules, instants, answers }] of cases.entries()) {
    for (const [j, answer] of answers.entries()) {
      count++;
      if (answer.length > 0) taken++;
      const other = lines[i]?.[j] ?? [];
      if (JSON.stringify([...answer].sort()) === JSON.stringify([...other].sort())) continue;
      const where = `${rules.timezone} at ${new Date(instants[j]!).toISOString()}`;
      throw new Error(`${where}: ${answer} is on call, and ${other} by definition: ${JSON.stringify(rules)}`);
    }
  }
  return Promise.resolve(`${count} instants in ${zones.length} zones, ${taken} with someone on call: 0 differences`);
}

function clockChanges(timezone: string): number[] {
  const format = new Intl.DateTimeFormat('en', { timeZone: timezone, timeZoneName: 'longOffset' });
  const changes: number[] = [];
  const offset = (instant: number) => format.format(instant);
  for (let hour = begin; hour < begin + span; hour += dayMs) {
    const offsetOf = (instant: number) => offset(instant).split('GMT')[1];
    if (offsetOf(hour) === offsetOf(hour + dayMs)) continue;
    let [low, high] = [hour, hour + dayMs];
    while (high - low > 60_000) {
      const middle = low + Math.floor((high - low) / 120_000) * 60_000;
      if (offsetOf(middle) === offsetOf(low)) low = middle;
      else high = middle;
    }
    changes.push(high);
  }
  return changes;
}
