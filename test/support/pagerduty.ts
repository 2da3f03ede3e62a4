/**
 * PagerDuty as an importer sees it: its API, strict about what it is asked, and the shifts that it computes. They follow its
 * definition, moment by moment: the upper layer that has a turn and no restriction then, or each shift of each rotation.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Temporal } from 'temporal-polyfill';
import type { PagerDutyEvent, PagerDutyLayer } from '../../src/core/import/pagerduty/resources.ts';
import { openImportServer } from './import-server.ts';

const day = 86_400_000;
const known = new Map<string, number>();

/** Local times are written as if they were in UTC. */
function instantOf(wall: number, zone: string): number {
  const key = `${wall} ${zone}`;
  const found =
    known.get(key) ??
    Temporal.PlainDateTime.from(new Date(wall).toISOString().slice(0, 19)).toZonedDateTime(zone).epochMilliseconds;
  known.set(key, found);
  return found;
}

function wallOf(instant: number, zone: string): number {
  const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDateTime();
  return Date.parse(`${local.toString({ smallestUnit: 'second' })}Z`);
}

export interface Computed {
  user: string;
  from: number;
  until: number;
  rotation?: string;
}

export interface Interval {
  from: number;
  until: number;
}

const clip = (one: Interval, { from, until }: Interval): Interval => ({
  from: Math.max(one.from, from),
  until: Math.min(one.until, until),
});
const isLong = ({ from, until }: Interval) => until > from;

/** The times of a layer: turns, cut to its restrictions and to its start and end. */
function turnsOf(layer: PagerDutyLayer, zone: string, clock: 'local' | 'elapsed', span: Interval): Computed[] {
  const length = layer.rotation_turn_length_seconds * 1_000;
  const begin = Date.parse(layer.rotation_virtual_start);
  const wall = wallOf(begin, zone);
  const startOf = (n: number) => (clock === 'local' ? instantOf(wall + n * length, zone) : begin + n * length);
  const own = { from: Date.parse(layer.start), until: layer.end ? Date.parse(layer.end) : Number.POSITIVE_INFINITY };
  const allowed = layer.restrictions?.length ? restrictedTo(layer, zone, span) : [span];
  const found: Computed[] = [];
  for (let n = Math.floor((span.from - begin) / length) - 2; startOf(n) < span.until; n++) {
    const { id } = layer.users[((n % layer.users.length) + layer.users.length) % layer.users.length]!.user;
    const turn = clip(clip({ from: startOf(n), until: startOf(n + 1) }, own), span);
    if (isLong(turn)) found.push(...allowed.map(one => ({ ...clip(turn, one), user: id })).filter(isLong));
  }
  return found;
}

function restrictedTo(layer: PagerDutyLayer, zone: string, span: Interval): Interval[] {
  const found: Interval[] = [];
  const first = Math.floor(wallOf(span.from, zone) / day) * day - 8 * day;
  for (let date = first; date < span.until + 2 * day; date += day) {
    // Sunday is 7.
    const weekday = new Date(date).getUTCDay() || 7;
    for (const one of layer.restrictions ?? []) {
      if (one.type === 'weekly_restriction' && one.start_day_of_week !== weekday) continue;
      const [hours, minutes] = one.start_time_of_day.split(':').map(Number) as [number, number];
      const start = date + (hours * 60 + minutes) * 60_000;
      const end = start + one.duration_seconds * 1_000;
      found.push({ from: instantOf(start, zone), until: instantOf(end, zone) });
    }
  }
  return found;
}

interface Layered {
  /** As the API lists them: the upper one first. */
  layers: PagerDutyLayer[];
  zone: string;
  /** What turns follow when the clocks change. */
  clock?: 'local' | 'elapsed';
  overrides?: Computed[];
}

/** Who is on call by a schedule of layers. */
export function finalSchedule({ layers, zone, clock = 'local', overrides = [] }: Layered, span: Interval): Computed[] {
  const levels = [overrides, ...layers.map(layer => turnsOf(layer, zone, clock, span))];
  const edges = [...new Set(levels.flat().flatMap(({ from, until }) => [from, until]))]
    .filter(at => at >= span.from && at <= span.until)
    .sort((a, b) => a - b);
  const sorted = levels.map(level => level.toSorted((a, b) => a.from - b.from));
  const found: Computed[] = [];
  for (const [i, at] of edges.slice(0, -1).entries()) {
    const top = sorted
      .map(level => level.find(({ from, until }) => from <= at && until > at))
      .find(one => one !== undefined);
    if (!top) continue;
    const last = found.at(-1);
    if (last?.user === top.user && last.until === at) last.until = edges[i + 1]!;
    else found.push({ user: top.user, from: at, until: edges[i + 1]! });
  }
  return found;
}

const names = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

/** The local starts of a daily or weekly recurrence up to `end`, by RFC 5545 with weeks that begin on Monday. */
function* recur(rule: string, start: number, end: number, zone: string): Generator<number> {
  const parts = new Map(
    rule
      .replace('RRULE:', '')
      .split(';')
      .map(part => part.split('=') as [string, string]),
  );
  const interval = Number(parts.get('INTERVAL') ?? 1);
  const count = Number(parts.get('COUNT') ?? Number.POSITIVE_INFINITY);
  const text = parts.get('UNTIL');
  // In UTC.
  const until = text
    ? wallOf(Date.parse(text.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)/, '$1-$2-$3T$4:$5:$6')), zone)
    : end;
  const monday = (date: number) => date - ((new Date(date).getUTCDay() + 6) % 7) * day;
  const time = start % day;
  let n = 0;
  for (let date = start - time; date + time <= Math.min(end, until) && n < count; date += day) {
    const name = names[new Date(date).getUTCDay()]!;
    const days = parts.get('BYDAY')?.split(',');
    if (parts.get('FREQ') === 'DAILY') {
      if (((date - (start - time)) / day) % interval !== 0 || (days && !days.includes(name))) continue;
    } else {
      if (((monday(date) - monday(start - time)) / (7 * day)) % interval !== 0) continue;
      if (!(days ?? [names[new Date(start).getUTCDay()]!]).includes(name)) continue;
    }
    n++;
    yield date + time;
  }
}

export interface Rotations {
  rotations: { id: string; events: PagerDutyEvent[] }[];
  zone: string;
  /** Which shift is that of the first member. */
  countFrom?: 'start' | 'since';
  custom?: Computed[];
  overrides?: (Computed & { replaces: string })[];
}

/** Who is on call by a shift-based schedule. */
export function computedShifts(
  { rotations, zone, countFrom = 'since', custom = [], overrides = [] }: Rotations,
  span: Interval,
): Computed[] {
  const found = rotations.flatMap(({ id, events }) =>
    events.flatMap(event => shiftsOf(event, id, zone, countFrom, span)),
  );
  return [...found, ...custom]
    .map(shift => ({ ...shift, ...clip(shift, span) }))
    .filter(isLong)
    .flatMap(shift => replace(shift, overrides));
}

function shiftsOf(
  event: PagerDutyEvent,
  rotation: string,
  zone: string,
  countFrom: string,
  span: Interval,
): Computed[] {
  const [start, end] = [event.start_time, event.end_time].map(one => wallOf(Date.parse(one.date_time), zone)) as [
    number,
    number,
  ];
  const since = Date.parse(event.effective_since);
  const effective = {
    from: since,
    until: event.effective_until ? Date.parse(event.effective_until) : Number.POSITIVE_INFINITY,
  };
  const { type, members, shifts_per_member } = event.assignment_strategy;
  const found: Computed[] = [];
  let n = 0;
  for (const wall of recur(event.recurrence[0]!, start, span.until + 2 * day, zone)) {
    const shift = clip({ from: instantOf(wall, zone), until: instantOf(wall + end - start, zone) }, effective);
    const turn = Math.floor(n / (shifts_per_member ?? 1)) % members.length;
    const taken = type === 'every_member_assignment_strategy' ? members : [members[turn]!];
    if (countFrom === 'start' || instantOf(wall, zone) + end - start > since) n++;
    if (shift.until > span.from && isLong(shift)) {
      for (const { user_id } of taken) if (user_id) found.push({ ...shift, user: user_id, rotation });
    }
  }
  return found;
}

/** Splits a shift where someone takes it over. */
function replace(shift: Computed, overrides: (Computed & { replaces: string })[]): Computed[] {
  const one = overrides.find(
    ({ replaces, from, until }) => replaces === shift.user && from < shift.until && until > shift.from,
  );
  if (!one) return [shift];
  const [before, after] = [
    { ...shift, until: Math.min(shift.until, one.from) },
    { ...shift, from: Math.max(shift.from, one.until) },
  ];
  // No longer a shift of the rotation itself.
  const { rotation: _, ...taken } = { ...shift, ...clip(shift, one), user: one.user };
  return [before, taken, after].filter(isLong);
}

type Item = { id: string } & Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: objects of the API are read by their names
type Any = any;

export interface Account {
  /** Lists of the API by their paths. */
  lists: Record<string, Item[]>;
  schedules: Item[];
  shiftSchedules: Item[];
  /** By the id of the schedule. */
  overrides: Record<string, Item[]>;
  customShifts: Record<string, Item[]>;
}

const time = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

/** Serves an account, two items per page whatever the limit is, and answers one request with 429 first. */
export async function openPagerDuty(account: Account, token: string) {
  const answer = (request: IncomingMessage, response: ServerResponse, limit: boolean): number => {
    const { pathname, searchParams } = new URL(request.url!, 'http://pagerduty');
    const send = (status: number, body: object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
      return status;
    };
    const refuse = (status: number, message: string) => send(status, { error: { message, code: 2001 } });
    if (request.method !== 'GET') return refuse(405, 'Method not allowed');
    if (request.headers.authorization !== `Token token=${token}`) return refuse(401, 'Unauthorized');
    if (request.headers.accept !== 'application/vnd.pagerduty+json;version=2') return refuse(406, 'Not Acceptable');
    if (limit) return send(429, { error: { message: 'Rate Limit Exceeded', code: 2020 } }, { 'retry-after': '1' });
    const takes = (...names: string[]) => [...searchParams.keys()].every(name => names.includes(name));
    const page = (name: string, items: Item[]) => {
      const offset = Number(searchParams.get('offset') ?? 0);
      if (!(offset >= 0) || Number(searchParams.get('limit')) > 100) return refuse(400, 'Invalid Input Provided');
      const more = offset + 2 < items.length;
      return send(200, { [name]: items.slice(offset, offset + 2), limit: 2, offset, more, total: null });
    };
    const span = {
      from: Date.parse(searchParams.get('since') ?? ''),
      until: Date.parse(searchParams.get('until') ?? ''),
    };
    const [, version, path, id, action] = /^(\/v3)?\/(\w+)(?:\/(\w+)(?:\/(\w+))?)?$/.exec(pathname) ?? [];
    if (path === 'schedules' && id) {
      const schedule: Any = (version ? account.shiftSchedules : account.schedules).find(one => one.id === id);
      if (!schedule || Number.isNaN(span.from) || Number.isNaN(span.until)) return refuse(404, 'Not Found');
      const overrides: Any[] = account.overrides[id] ?? [];
      if (action === 'overrides' && !version)
        return takes('since', 'until') ? send(200, { overrides }) : refuse(400, 'Invalid');
      if (action === 'overrides') return page('overrides', overrides);
      if (action === 'custom_shifts' && version) return page('custom_shifts', account.customShifts[id] ?? []);
      if (action) return refuse(404, 'Not Found');
      if (!version)
        return takes('since', 'until')
          ? send(200, { schedule: withFinal(schedule, overrides, span) })
          : refuse(400, 'Invalid');
      if (!takes('since', 'until', 'include[]')) return refuse(400, 'Invalid');
      const final = searchParams.get('include[]') === 'final_schedule';
      return send(200, {
        schedule: final ? withComputed(schedule, overrides, account.customShifts[id] ?? [], span) : schedule,
      });
    }
    if (id || !takes('limit', 'offset', 'include[]', 'filter')) return refuse(404, 'Not Found');
    if (path === 'schedules' && version) {
      const reference = ({ id: own, name }: Item) => ({ id: own, type: 'schedule_v3_reference', summary: name });
      return page('schedules', account.shiftSchedules.map(reference) as Item[]);
    }
    // Layers are in the answer for one schedule only.
    if (path === 'schedules')
      return page('schedules', account.schedules.map(({ schedule_layers: _, ...one }) => one) as Item[]);
    const items = account.lists[path ?? ''];
    if (!items || version)
      return path === 'event_orchestrations' ? refuse(402, 'Payment Required') : refuse(404, 'Not Found');
    return page(
      path!,
      items.map(item => expand(item, searchParams.getAll('include[]'))),
    );
  };
  return openImportServer(answer);
}

/** Parts that are not asked for are references. */
function expand(item: Item, included: string[]): Item {
  const parts = ['contact_methods', 'notification_rules', 'integrations'].filter(name => Array.isArray(item[name]));
  const references = parts
    .filter(name => !included.includes(name))
    .map(name => [name, (item[name] as Item[]).map(({ id, type }) => ({ id, type: `${type}_reference` }))]);
  return { ...item, ...Object.fromEntries(references) };
}

function withFinal(schedule: Any, overrides: Any[], span: Interval): object {
  const taken = overrides.map(one => ({ user: one.user.id, from: Date.parse(one.start), until: Date.parse(one.end) }));
  const zone = schedule.time_zone === 'Mumbai' ? 'Asia/Kolkata' : schedule.time_zone;
  const found = finalSchedule({ layers: schedule.schedule_layers, zone, overrides: taken }, span);
  const entries = found.map(({ user, from, until }, i) => ({
    id: `R${i}`,
    start: time(from),
    end: time(until),
    user: { id: user, type: 'user_reference', summary: user },
  }));
  return { ...schedule, final_schedule: { name: 'Final Schedule', rendered_schedule_entries: entries } };
}

function withComputed(schedule: Any, overrides: Any[], custom: Any[], span: Interval): object {
  const times = (one: Any) => ({ from: Date.parse(one.start_time), until: Date.parse(one.end_time) });
  const found = computedShifts(
    {
      rotations: schedule.rotations,
      zone: schedule.time_zone,
      custom: custom.map(one => ({ ...times(one), user: one.assignments[0].member.user_id })),
      overrides: overrides.map(one => ({
        ...times(one),
        user: one.overriding_member.user_id,
        replaces: one.overridden_member.user_id,
      })),
    },
    span,
  );
  const assignments = found.map(({ user, from, until, rotation }) => ({
    type: 'computed_shift_assignment',
    start_time: time(from),
    end_time: time(until),
    member: { type: 'user_member', user_id: user },
    source: rotation ? { type: 'schedule_rotation', rotation_id: rotation } : { type: 'custom_shift', shift_id: 'X' },
  }));
  return { ...schedule, final_schedule: { type: 'final_schedule', computed_shift_assignments: assignments } };
}
