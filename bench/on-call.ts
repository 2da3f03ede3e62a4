/**
 * Who is on call: the decision alone for 1,000 schedules with 50 layers, the calendar of a month of each, and what the API answers for
 * the same schedules. There is no baseline: the limits are absolute.
 */
import type { Layer } from '../src/core/oncall/rotation.ts';
import { type CompiledSchedule, compileSchedule, listShifts, whoIsOnCall } from '../src/core/oncall/schedule.ts';
import { event, sandbox } from './fan-out.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage, type Stage } from './stage.ts';

const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'];
const layersEach = 50;
const turns = 4;
const at = Date.UTC(2027, 5, 1, 3);
const monthMs = 31 * 86_400_000;

/** Half of the layers apply at night only, and half of the schedules add up all of their layers. */
function rulesOf(i: number) {
  const layers = Array.from({ length: layersEach }, (_, n): Layer => {
    const users = Array.from({ length: turns }, (_, turn) => `u${(i + n + turn) % 1_000}@x.test`);
    const every = ['12h', '1d', '1w', '1mo'][n % 4]!;
    const nights = n % 2 ? { only: [{ days: ['mon' as const, 'tue' as const], from: '18:00', until: '09:00' }] } : {};
    return { name: `l${n}`, every, from: '2026-01-05T09:00', users, ...nights };
  });
  return { timezone: zones[i % zones.length]!, combine: i % 2 ? ('all' as const) : ('cover' as const), layers };
}

export const onCall: Scenario = {
  name: 'on-call',
  summary: 'who is on call in 1,000 schedules (quick: 20) with 50 layers each, and their calendar of a month',
  async run({ quick }) {
    const count = quick ? 20 : 1_000;
    const schedules = Array.from({ length: count }, (_, i) => compileSchedule(rulesOf(i)));
    const decided = measure(schedules, schedule => whoIsOnCall(schedule, at).users.length);
    const listed = measure(schedules, schedule => listShifts(schedule, at, at + monthMs).length);
    const stage = await openStage([sandbox], [event('page')], { distribution_lists: [{ name: 'page' }] });
    try {
      await addSchedules(stage, count);
      const { address } = await stage.start('api');
      const asked = await ask(stage, address, schedules, quick ? 20 : 200);
      const note = `${count.toLocaleString('en')} schedules with ${layersEach} layers; mean`;
      return [
        { measure: 'who is on call', ...row(decided, 1), note },
        { measure: 'the shifts of a month', ...row(listed, 20), note },
        { measure: 'who is on call and who is next, by API, p95', ...row(quantile(asked, 0.95)), note: 'one schedule' },
      ];
    } finally {
      await stage.close();
    }
  },
};

function row(value: number, max?: number): Pick<Row, 'value' | 'unit' | 'limit'> {
  return { value, unit: 'ms', ...(max !== undefined && { limit: { of: 'value' as const, max } }) };
}

/** Returns the mean time in milliseconds. Each schedule is asked once before, as the changes of its zone are cached. */
function measure(schedules: readonly CompiledSchedule[], run: (schedule: CompiledSchedule) => number): number {
  for (const schedule of schedules) if (run(schedule) === 0) throw new Error('a schedule has no one');
  const began = performance.now();
  for (const schedule of schedules) run(schedule);
  return (performance.now() - began) / schedules.length;
}

async function addSchedules({ sql }: Stage, count: number): Promise<void> {
  await sql.query(
    `insert into users (organization_id, username, email) select o.id, 'u' || i || '@x.test', 'u' || i || '@x.test'
     from organizations o, generate_series(0, 999) i where o.slug = 'bench'`,
  );
  for (let i = 0; i < count; i++) {
    const { timezone, combine, layers } = rulesOf(i);
    await sql.query(
      `insert into schedules (organization_id, project_id, slug, name, timezone, combine, layers)
       select organization_id, id, $1, $1, $2, $3, $4 from projects where slug = 'shop'`,
      [`s${i}`, timezone, combine, JSON.stringify(layers)],
    );
  }
}

/** Asks for one schedule after the other, and compares the answers with the decision. */
async function ask(stage: Stage, address: string, schedules: readonly CompiledSchedule[], requests: number) {
  const times: number[] = [];
  for (let i = 0; i < requests; i++) {
    const n = i % schedules.length;
    const began = performance.now();
    const answer = await fetch(
      `${address}/api/o/bench/p/shop/schedules/s${n}/on-call/?at=${new Date(at).toISOString()}`,
      { headers: { authorization: `Key ${stage.key}` } },
    );
    const body = (await answer.json()) as { users: { username: string }[] };
    times.push(performance.now() - began);
    const expected = whoIsOnCall(schedules[n]!, at).users.join();
    if (body.users?.map(({ username }) => username).join() !== expected)
      throw new Error(`${answer.status}: ${JSON.stringify(body).slice(0, 200)} instead of ${expected}`);
  }
  return times;
}
