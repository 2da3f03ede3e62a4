/**
 * Grafana OnCall as an importer sees it: its API, strict about what it is asked, and the shifts that it computes. They follow its
 * definition: each turn of a shift is a recurring event of a calendar, and events of a higher level cover those of lower ones.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Temporal } from 'temporal-polyfill';
import type { OnCallShift } from '../../src/core/import/grafana-oncall/resources.ts';
import { openImportServer } from './import-server.ts';

const hour = 3_600_000;
const day = 24 * hour;
const names = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

export interface Rule {
  freq: string;
  interval: number;
  byDay?: number[] | undefined;
  weekStart: number;
  /** In local time. */
  until?: number | undefined;
}

interface Series {
  start: number;
  end: number;
  rule: Rule | undefined;
  user: string;
}

const weekday = (wall: number) => (new Date(wall).getUTCDay() === 0 ? 6 : new Date(wall).getUTCDay() - 1);
const wallOf = (text: string) => Date.parse(`${text}Z`);
const monthDays = (wall: number, more = 0) => {
  const date = new Date(wall);
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + more, 0)).getUTCDate();
};

function instantOf(wall: number, zone: string): number {
  return Temporal.PlainDateTime.from(new Date(wall).toISOString().slice(0, 19)).toZonedDateTime(zone).epochMilliseconds;
}

/** The starts of a recurrence by RFC 5545, in local time, up to `end`. */
function* recur(start: number, { freq, interval, byDay, weekStart, until }: Rule, end: number): Generator<number> {
  const last = Math.min(end, until ?? end);
  const time = start % day;
  const midnight = start - time;
  if (freq === 'hourly') {
    for (let at = start; at <= last; at += interval * hour) yield at;
    return;
  }
  for (let date = midnight; date + time <= last; date += day) {
    const at = date + time;
    if (freq === 'daily') {
      if (((date - midnight) / day) % interval !== 0 || (byDay && !byDay.includes(weekday(at)))) continue;
    } else if (freq === 'weekly') {
      const weekOf = (one: number) => one - ((weekday(one) - weekStart + 7) % 7) * day;
      if (((weekOf(date) - weekOf(midnight)) / (7 * day)) % interval !== 0) continue;
      if (!(byDay ?? [weekday(start)]).includes(weekday(at))) continue;
    } else {
      const months = (one: number) => new Date(one).getUTCFullYear() * 12 + new Date(one).getUTCMonth();
      if ((months(date) - months(midnight)) % interval !== 0) continue;
      if (byDay ? !byDay.includes(weekday(at)) : new Date(at).getUTCDate() !== new Date(start).getUTCDate()) continue;
    }
    yield at;
  }
}

/** What OnCall makes of a shift: `CustomOnCallShift.convert_to_ical`. */
export function seriesOf(shift: OnCallShift, isWeb: boolean, zone: string): Series[] {
  const start = wallOf(shift.start);
  const length = shift.duration * 1_000;
  const until = shift.until ? wallOf(shift.until) : undefined;
  const groups = shift.rolling_users ?? [];
  const interval = shift.interval ?? 1;
  const localUntil =
    until === undefined
      ? undefined
      : wallOf(
          Temporal.Instant.fromEpochMilliseconds(until)
            .toZonedDateTimeISO(zone)
            .toPlainDateTime()
            .toString({ smallestUnit: 'second' }),
        );
  const rule: Rule | undefined = shift.frequency
    ? {
        freq: shift.frequency,
        interval: shift.type === 'rolling_users' ? interval * groups.length : interval,
        byDay: shift.by_day?.length ? shift.by_day.map(one => names.indexOf(one)) : undefined,
        weekStart: names.indexOf(shift.week_start ?? 'SU'),
        until: localUntil,
      }
    : undefined;
  const make = (at: number, users: string[], own = rule): Series[] =>
    users.map(user => ({ start: at, end: Math.min(at + length, until ?? at + length), rule: own, user }));
  if (shift.type !== 'rolling_users') return make(start, shift.users ?? []);

  const index = shift.start_rotation_from_user_index ?? 0;
  const queue = [...groups.slice(index), ...groups.slice(0, index)];
  const begins = shift.rotation_start ? wallOf(shift.rotation_start) : start;
  const next = (from: number, isNext: boolean, step = interval, last = until): number | undefined => {
    let earliest = from;
    const weekStart = rule!.weekStart;
    if (isNext) {
      if (shift.frequency === 'hourly') earliest += hour;
      else if (shift.frequency === 'daily') earliest += day;
      else if (shift.frequency === 'weekly') {
        let days = 7 - weekday(from) + weekStart;
        if (days > 7) days %= 7;
        earliest += (days + 7 * (step - 1)) * day;
      } else {
        let days = monthDays(from) - new Date(from).getUTCDate() + 1;
        for (let i = 1; i < step; i++) days += monthDays(from, i);
        earliest += days * day;
      }
    }
    let end: number | undefined;
    if (shift.frequency === 'weekly') end = earliest + (6 - ((weekday(earliest) - weekStart + 7) % 7)) * day;
    if (shift.frequency === 'monthly') end = earliest + (monthDays(earliest) - new Date(earliest).getUTCDate()) * day;
    const range = Math.max(end ?? 0, earliest + monthDays(from) * day);
    let found: number | undefined;
    for (const at of recur(from, { ...rule!, interval: step }, range)) {
      if (end !== undefined) {
        if (at > end) break;
        if (at < earliest || !(isWeb ? at + length > begins : at >= begins)) continue;
        found = at;
        break;
      }
      if (at >= earliest) {
        found = at;
        break;
      }
    }
    const result = found ?? earliest;
    return last !== undefined && result > last ? undefined : result;
  };

  let at: number | undefined = start === begins ? start : next(start, false);
  const { byDay } = rule!;
  if (byDay && at !== undefined && !byDay.includes(weekday(at))) {
    const first = [0, 1, 2, 3, 4, 5, 6].map(i => (i + rule!.weekStart) % 7).find(one => byDay.includes(one))!;
    at += ((first - weekday(at) + 7) % 7) * day;
  }
  if (shift.frequency === 'daily' && byDay) {
    // Each combination of a group, a day and its place in the interval is a weekly event.
    const seen = new Set<string>();
    const found: { group: number; at: number }[] = [];
    search: for (let n = 0; ; n++) {
      for (let i = 0; i < interval; i++) {
        if (at === undefined || found.length > 1_000) break search;
        const key = `${n % queue.length} ${weekday(at)} ${i}`;
        if (seen.has(key)) break search;
        seen.add(key);
        found.push({ group: n % queue.length, at });
        // The search goes on after the end, to find all combinations.
        at = next(at, true, 1, Number.POSITIVE_INFINITY);
      }
    }
    const weeks = Math.max(1, Math.floor(found.length / byDay.length));
    return found
      .filter(one => until === undefined || one.at <= until)
      .flatMap(one =>
        make(one.at, queue[one.group]!, { ...rule!, freq: 'weekly', interval: weeks, byDay: [weekday(one.at)] }),
      );
  }
  const series: Series[] = [];
  let made = 0;
  for (let n = 0; at !== undefined && made < queue.length; n++) {
    if ((isWeb && at + length > begins) || at >= begins) {
      series.push(...make(at, queue[n % queue.length]!));
      made++;
    }
    at = next(at, true);
  }
  return series;
}

interface Event {
  from: number;
  until: number;
  user: string;
  level: number;
}

function eventsOf(shift: OnCallShift, isWeb: boolean, zone: string, until: number): Event[] {
  const level = shift.type === 'override' ? Number.POSITIVE_INFINITY : (shift.level ?? 0);
  return seriesOf(shift, isWeb, zone).flatMap(({ start, end, rule, user }) => {
    // An event lasts as long as the first one, whatever the clocks do.
    const length = instantOf(end, zone) - instantOf(start, zone);
    const starts = rule ? [...recur(start, rule, until + 2 * day)] : [start];
    return starts.map(at => ({ from: instantOf(at, zone), until: instantOf(at, zone) + length, user, level }));
  });
}

export interface FinalShift {
  user: string;
  from: number;
  until: number;
}

/** Who is on call: those of the highest level at each moment. */
export function finalShifts(
  shifts: OnCallShift[],
  { isWeb, timezone }: { isWeb: boolean; timezone: string },
  from: number,
  until: number,
): FinalShift[] {
  const zoneOf = (shift: OnCallShift) => shift.time_zone || (isWeb || shift.type === 'override' ? 'UTC' : timezone);
  const events = shifts
    .flatMap(shift => eventsOf(shift, isWeb, zoneOf(shift), until))
    .filter(event => event.until > from && event.from < until);
  const edges = [...new Set([from, until, ...events.flatMap(event => [event.from, event.until])])]
    .filter(at => at >= from && at <= until)
    .sort((a, b) => a - b);
  const found: FinalShift[] = [];
  for (const [i, at] of edges.slice(0, -1).entries()) {
    const active = events.filter(event => event.from <= at && event.until > at);
    const top = Math.max(...active.map(({ level }) => level));
    for (const user of new Set(active.filter(({ level }) => level === top).map(one => one.user)))
      found.push({ user, from: at, until: edges[i + 1]! });
  }
  return found;
}

export type Resources = Record<string, ({ id: string } & Record<string, unknown>)[]>;

/** Serves the resources with few items per page, and answers some requests with 429 first. */
export async function openGrafanaOnCall(resources: Resources, token: string) {
  const answer = (request: IncomingMessage, response: ServerResponse, limit: boolean): number => {
    const { pathname, searchParams } = new URL(request.url!, 'http://oncall');
    const send = (status: number, body: object, headers: Record<string, string> = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
      return status;
    };
    if (request.method !== 'GET') return send(405, { detail: 'Method not allowed.' });
    if (request.headers.authorization !== token) return send(403, { detail: 'Invalid token.' });
    if (limit) return send(429, { detail: 'Request was throttled.' }, { 'retry-after': '1' });
    const [, name, id, action] = /^\/api\/v1\/(\w+)\/(?:(\w+)\/(\w+)\/)?$/.exec(pathname) ?? [];
    const items = resources[name ?? ''];
    if (!items) return send(404, { detail: 'Not found.' });
    const known = action ? ['start_date', 'end_date'] : ['page'];
    if ([...searchParams.keys()].some(one => !known.includes(one))) return send(400, { detail: 'Unknown parameter.' });
    if (action) {
      const schedule = resources.schedules!.find(one => one.id === id);
      if (!schedule || action !== 'final_shifts') return send(404, { detail: 'Not found.' });
      const [start, end] = [searchParams.get('start_date') ?? '', searchParams.get('end_date') ?? ''];
      if (![start, end].every(one => /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(one)))
        return send(400, { start_date: ['format'] });
      const ids = schedule.shifts as string[];
      const shifts = resources.on_call_shifts!.filter(one => ids.includes(one.id)) as unknown as OnCallShift[];
      const kind = { isWeb: schedule.type === 'web', timezone: String(schedule.time_zone) };
      const time = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');
      const results = finalShifts(shifts, kind, wallOf(`${start}:00`), wallOf(`${end}:00`)).map(one => {
        const user = resources.users!.find(each => each.id === one.user)!;
        const shift = { shift_start: time(one.from), shift_end: time(one.until) };
        return { user_pk: user.id, user_email: user.email, user_username: user.username, ...shift };
      });
      const page = { current_page_number: 1, page_size: 50, total_pages: 1 };
      return send(200, { count: results.length, next: null, previous: null, results, ...page });
    }
    const size = 3;
    const number = Number(searchParams.get('page') ?? 1);
    const pages = Math.max(1, Math.ceil(items.length / size));
    if (!(number >= 1 && number <= pages)) return send(404, { detail: 'Invalid page.' });
    const link = (n: number) => (n >= 1 && n <= pages ? `https://oncall.invalid/api/v1/${name}/?page=${n}` : null);
    return send(200, {
      count: items.length,
      next: link(number + 1),
      previous: link(number - 1),
      results: items.slice((number - 1) * size, number * size),
      page_size: size,
      current_page_number: number,
      total_pages: pages,
    });
  };
  return openImportServer(answer);
}
