/**
 * Opsgenie as an importer sees it: its API, strict about what it is asked, and the timelines that it computes. They follow its
 * definition: turns of a rotation begin at the same local time, restrictions cut them, all rotations are on call together, overrides
 * take the place of rotations, and forwardings that of users.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Temporal } from 'temporal-polyfill';
import type { OpsgenieExport } from '../../src/core/import/opsgenie/resources.ts';
import { openImportServer } from './import-server.ts';

export type Schedule = OpsgenieExport['schedules'][number];
type Rotation = NonNullable<Schedule['rotations']>[number];
type Reference = Rotation['participants'][number];
type Forwarding = OpsgenieExport['forwarding_rules'][number];

interface Period {
  from: number;
  until: number;
  recipient: Reference;
}

const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** A local time that does not exist is the moment at which it is skipped; of two, the first counts. */
function instantOf(local: Temporal.PlainDateTime, zone: string): number {
  const found = local.toZonedDateTime(zone);
  if (found.toPlainDateTime().equals(local)) return found.epochMilliseconds;
  return local.toZonedDateTime(zone, { disambiguation: 'earlier' }).getTimeZoneTransition('next')!.epochMilliseconds;
}

const localOf = (instant: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).toPlainDateTime();

function turnsOf(rotation: Rotation, zone: string, until: number): Period[] {
  const start = Date.parse(rotation.startDate);
  const end = rotation.endDate ? Math.min(Date.parse(rotation.endDate), until) : until;
  const first = localOf(start, zone);
  const length = rotation.length ?? 1;
  const beginOf = (n: number): number => {
    if (n === 0) return start;
    if (rotation.type === 'hourly') return start + n * length * 3_600_000;
    return instantOf(first.add({ days: n * length * (rotation.type === 'weekly' ? 7 : 1) }), zone);
  };
  const turns: Period[] = [];
  for (let n = 0, from = start; from < end; n++) {
    const next = beginOf(n + 1);
    turns.push({
      from,
      until: Math.min(next, end),
      recipient: rotation.participants[n % rotation.participants.length]!,
    });
    from = next;
  }
  return turns;
}

/** The times of a restriction, each from a begin to an end on the clock. */
function windowsOf({ timeRestriction }: Rotation, zone: string, from: number, until: number): [number, number][] {
  if (!timeRestriction) return [[from, until]];
  const windows: [number, number][] = [];
  const last = localOf(until, zone).toPlainDate();
  for (let date = localOf(from, zone).toPlainDate().subtract({ days: 8 }); ; date = date.add({ days: 1 })) {
    if (Temporal.PlainDate.compare(date, last) > 0) return windows;
    const at = (day: Temporal.PlainDate, hour = 0, minute = 0) =>
      instantOf(day.toPlainDateTime().add({ hours: hour, minutes: minute }), zone);
    const { type, restriction, restrictions = [] } = timeRestriction;
    if (type === 'time-of-day') {
      const { startHour = 0, startMin = 0, endHour = 0, endMin = 0 } = restriction!;
      const more = endHour * 60 + endMin > startHour * 60 + startMin ? 0 : 1;
      windows.push([at(date, startHour, startMin), at(date.add({ days: more }), endHour, endMin)]);
    }
    for (const one of type === 'time-of-day' ? [] : restrictions) {
      const begin = days.indexOf(one.startDay!);
      if (date.dayOfWeek - 1 !== begin) continue;
      const [startAt, endAt] = [one.startHour! * 60 + one.startMin!, one.endHour! * 60 + one.endMin!];
      let more = (days.indexOf(one.endDay!) - begin + 7) % 7;
      if (more * 1_440 + endAt <= startAt) more += 7;
      windows.push([at(date, one.startHour, one.startMin), at(date.add({ days: more }), one.endHour, one.endMin)]);
    }
  }
}

/** Returns the parts of periods outside a span. */
const outside = (periods: Period[], from: number, until: number) =>
  periods.flatMap(period => [
    ...(period.from < from ? [{ ...period, until: Math.min(period.until, from) }] : []),
    ...(period.until > until ? [{ ...period, from: Math.max(period.from, until) }] : []),
  ]);
const inside = (periods: Period[], from: number, until: number) =>
  periods
    .map(period => ({ ...period, from: Math.max(period.from, from), until: Math.min(period.until, until) }))
    .filter(period => period.from < period.until);

export function timelineOf(schedule: Schedule, forwardings: Forwarding[], from: number, until: number) {
  const zone = schedule.timezone ?? 'UTC';
  const iso = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');
  const rotations = (schedule.rotations ?? []).map((rotation, order) => {
    const turns = rotation.enabled === false ? [] : inside(turnsOf(rotation, zone, until), from, until);
    const windows = windowsOf(rotation, zone, from, until);
    let periods = turns.flatMap(turn => windows.flatMap(([a, b]) => inside([turn], a, b)));
    for (const { user, startDate, endDate, rotations: own = [] } of schedule.overrides ?? []) {
      if (own.length > 0 && !own.some(({ id }) => id === rotation.id)) continue;
      const span = [Date.parse(startDate), Date.parse(endDate)] as const;
      const added = inside([{ from: span[0], until: span[1], recipient: user }], from, until);
      periods = [...outside(periods, ...span), ...added];
    }
    for (const { fromUser, toUser, startDate, endDate } of forwardings) {
      const span = [Date.parse(startDate), Date.parse(endDate)] as const;
      periods = periods.flatMap(period =>
        period.recipient.id !== fromUser.id
          ? [period]
          : [...outside([period], ...span), ...inside([period], ...span).map(one => ({ ...one, recipient: toUser }))],
      );
    }
    return {
      id: rotation.id,
      name: rotation.name,
      order,
      periods: periods.map(period => ({
        startDate: iso(period.from),
        endDate: iso(period.until),
        type: 'default',
        recipient: period.recipient,
      })),
    };
  });
  return { startDate: iso(from), endDate: iso(until), finalTimeline: { rotations } };
}

type Item = { id: string } & Record<string, unknown>;
export interface Account {
  /** By path, such as `v2/users` or `v2/users/U1/contacts`; `lists` show fewer fields than the object itself. */
  lists: Record<string, Item[]>;
  objects: Record<string, object>;
  schedules: Schedule[];
  forwardings: Forwarding[];
  /** Answered with 402, as without the plan for it. */
  unpaid?: string[];
}

/** Serves an account with few items per page, and answers one request with 429 first. */
export async function openOpsgenie(account: Account, key: string) {
  const answer = (request: IncomingMessage, response: ServerResponse, limit: boolean): number => {
    const { pathname, searchParams, search } = new URL(request.url!, 'http://opsgenie');
    const path = decodeURIComponent(pathname.slice(1));
    const send = (status: number, body: object) => {
      const state = { 'x-ratelimit-state': limit ? 'THROTTLED' : 'OK', 'x-ratelimit-period-in-sec': '60' };
      const text = JSON.stringify({ ...body, took: 0.01, requestId: 'b5c1' });
      response.writeHead(status, { 'content-type': 'application/json', ...state }).end(text);
      return status;
    };
    const refuse = (status: number, message: string) => send(status, { message });
    if (request.method !== 'GET') return refuse(405, 'Method not allowed');
    if (request.headers.authorization !== `GenieKey ${key}`) return refuse(401, 'Could not authenticate');
    if (limit) return refuse(429, 'You are making too many requests!');
    if (account.unpaid?.includes(path)) return refuse(402, 'Your plan does not support this');
    const [, scheduleId] = /^v2\/schedules\/([^/]+)\/timeline$/.exec(path) ?? [];
    if (scheduleId) {
      const schedule = account.schedules.find(({ id }) => id === scheduleId);
      const { interval, intervalUnit, date, expand, ...others } = Object.fromEntries(searchParams);
      if (!schedule) return refuse(404, 'Schedule not found');
      if (Object.keys(others).length > 0 || intervalUnit !== 'days' || expand !== 'base,forwarding,override')
        return refuse(422, 'Unknown parameter');
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(date ?? '')) return refuse(422, 'Invalid date');
      const from = Date.parse(date!);
      const until = from + Number(interval) * 86_400_000;
      return send(200, {
        data: { _parent: { id: scheduleId }, ...timelineOf(schedule, account.forwardings, from, until) },
      });
    }
    const object = Object.hasOwn(account.objects, path) ? account.objects[path] : undefined;
    if (object) return search === '' ? send(200, { data: object }) : refuse(422, 'Unknown parameter');
    const isPolicy = path.startsWith('v2/policies/');
    const name = isPolicy && searchParams.has('teamId') ? `${path}?${searchParams.get('teamId')}` : path;
    const items = Object.hasOwn(account.lists, name) ? account.lists[name] : undefined;
    if (!items) return refuse(404, 'No such resource');
    const known = ['limit', 'offset', 'expand', 'teamId', 'type'];
    if ([...searchParams.keys()].some(one => !known.includes(one))) return refuse(422, 'Unknown parameter');
    const [size, offset] = [Number(searchParams.get('limit') ?? 20), Number(searchParams.get('offset') ?? 0)];
    if (!(size >= 1 && size <= 100 && offset >= 0)) return refuse(422, 'limit must be between 1 and 100');
    const end = offset + Math.min(size, 3);
    const next = `https://api.opsgenie.invalid/${path}?limit=3&offset=${end}`;
    return send(200, { data: items.slice(offset, end), paging: end < items.length ? { next } : {} });
  };
  return openImportServer(answer);
}
