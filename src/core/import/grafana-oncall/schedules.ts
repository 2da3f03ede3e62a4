/** Schedules of OnCall: shifts of a higher level cover those of lower ones, and those of the same level are on call together. */
import { type Layer, rotationLimits } from '../../oncall/rotation.ts';
import { compileSchedule, listShifts } from '../../oncall/schedule.ts';
import { dayMs, zoneOf } from '../../oncall/zone.ts';
import type { AddNote, ImportedSchedule, ImportOptions } from '../imported.ts';
import { gcd, haveSameClocks, refuseLayers, toUsers } from '../layers.ts';
import { makeUnique, nameOf, readTimezone } from '../names.ts';
import { coverCommand, type NewOverride } from '../overrides.ts';
import type { OnCallExport, OnCallShift } from './resources.ts';
import { readLocal, toLayers } from './shifts.ts';

type OnCallSchedule = OnCallExport['schedules'][number];

export interface ScheduleContext extends ImportOptions {
  data: OnCallExport;
  emails: ReadonlyMap<string, string>;
  note: AddNote;
}

interface Leveled {
  level: number;
  zone: string;
  layer: Layer;
}

/** Returns undefined if nothing of it can be carried over. */
export function toSchedule(
  schedule: OnCallSchedule,
  slug: string,
  context: ScheduleContext,
): ImportedSchedule | undefined {
  const { data, emails, now } = context;
  const subject = `schedule ${schedule.name}`;
  if (schedule.type === 'ical') {
    context.note(subject, 'its shifts come from a calendar by its URL: describe them as layers');
    return undefined;
  }
  if (schedule.has_calendar_overrides)
    context.note(subject, 'overrides from a calendar are not read: use `belfry cover`');
  const isWeb = schedule.type === 'web';
  const ids = new Set(schedule.shifts ?? []);
  const shifts = data.on_call_shifts.filter(shift => ids.has(shift.id));
  const found: Leveled[] = [];
  for (const shift of shifts.filter(one => one.type !== 'override')) {
    // Shifts of web schedules are in UTC, whatever the zone of the schedule is.
    const zone = readTimezone(shift.time_zone || (isWeb ? 'UTC' : schedule.time_zone) || 'UTC');
    if (!zone) {
      context.note(`${subject}, shift ${shift.name}`, `its time zone, ${shift.time_zone}, is not known`);
      continue;
    }
    const made = toLayers(shift, { isWeb, timezone: zone, now, emails });
    if ('refused' in made) context.note(`${subject}, shift ${shift.name}`, made.refused);
    else if ('layers' in made) {
      if (made.layers.some(({ users }) => users.some(turn => turn.length === 0)))
        context.note(
          `${subject}, shift ${shift.name}`,
          'one of its turns has no user who can be carried over: a turn of no one',
        );
      found.push(...made.layers.map(layer => ({ level: shift.level ?? 0, zone, layer })));
    }
  }
  const timezone = commonest(found.map(({ zone }) => zone));
  if (!timezone) {
    context.note(subject, 'it has no shifts that can be carried over: steps that name it are left out');
    return undefined;
  }
  const leveled = found.filter(({ zone, layer }) => {
    if (haveSameClocks(zoneOf(zone), zoneOf(timezone), now)) return true;
    context.note(`${subject}, shift ${layer.name}`, `its time zone is ${zone}, that of the others ${timezone}`);
    return false;
  });
  const layers = arrange(leveled, timezone, context, subject);
  const refused = refuseLayers(layers);
  if (refused) {
    context.note(subject, `${refused}: steps that name it are left out`);
    return undefined;
  }
  const levels = new Set(leveled.map(({ level }) => level));
  const overrides = [
    ...shifts.filter(one => one.type === 'override').flatMap(shift => toOverrides(shift, slug, subject, context)),
    ...data.shift_swaps
      .filter(swap => swap.schedule === schedule.id)
      .flatMap(swap => fromSwap(swap, slug, subject, context)),
  ].map((override, id) => ({ ...override, id }));
  const final = data.final_shifts.find(one => one.schedule === schedule.id);
  return {
    entry: {
      slug,
      name: nameOf(schedule.name, slug),
      timezone,
      ...(levels.size === 1 && layers.length > 1 && { combine: 'all' as const }),
      layers,
    },
    overrides,
    expected: final && {
      from: Date.parse(final.from),
      until: Date.parse(final.until),
      shifts: final.shifts.map(shift => ({
        user: emails.get(shift.user_pk) ?? shift.user_pk,
        from: Date.parse(shift.shift_start),
        until: Date.parse(shift.shift_end),
      })),
    },
  };
}

function commonest(zones: string[]): string | undefined {
  const counts = Map.groupBy(zones, zone => zone);
  return [...counts].sort((a, b) => b[1].length - a[1].length)[0]?.[0];
}

/** Returns layers of which later ones cover earlier ones. Those of one level that have the same turns become one. */
function arrange(leveled: Leveled[], timezone: string, { now, note }: ScheduleContext, subject: string): Layer[] {
  const unique = makeUnique(' ');
  const levels = Map.groupBy(leveled, ({ level }) => level);
  return [...levels]
    .sort(([a], [b]) => a - b)
    .flatMap(([level, all]) => {
      const layers = mergeAlike(all.map(({ layer }) => layer));
      if (levels.size > 1 && overlap(layers, timezone, now)) {
        const names = layers.map(({ name }) => name).join(', ');
        note(
          subject,
          `${names} are on call together on level ${level}, which cannot be combined with other levels: only one of them is. ` +
            'Use a schedule for each',
        );
      }
      return layers.map(layer => ({ ...layer, name: unique(nameOf(layer.name, 'Shift')) }));
    });
}

/** Merges layers whose turns begin and end at the same times: their users are on call together. */
function mergeAlike(layers: Layer[]): Layer[] {
  const alike = Map.groupBy(layers, ({ every, from, until, only }) => JSON.stringify([every, from, until, only]));
  return [...alike.values()].map(same => {
    if (same.length === 1) return same[0]!;
    const turns = same.reduce((length, { users }) => (length * users.length) / gcd(length, users.length), 1);
    if (turns > rotationLimits.turns) return same[0]!;
    const users = Array.from({ length: turns }, (_, n) => [
      ...new Set(same.flatMap(layer => layer.users[n % layer.users.length]!)),
    ]);
    return {
      ...same[0]!,
      name: same.map(({ name }) => name).join(', '),
      users: toUsers(users),
    };
  });
}

function overlap(layers: Layer[], timezone: string, now: number): boolean {
  if (layers.length < 2) return false;
  const numbered = layers.map((layer, i) => ({ ...layer, name: String(i) }));
  const shifts = listShifts(compileSchedule({ timezone, layers: numbered, combine: 'all' }), now, now + 92 * dayMs);
  return shifts.some(shift => shift.layers.length > 1 && shift.users.length > 1);
}

function toOverrides(shift: OnCallShift, slug: string, subject: string, context: ScheduleContext): NewOverride[] {
  const zone = zoneOf(readTimezone(shift.time_zone || 'UTC') ?? 'UTC');
  const start = readLocal(shift.start);
  if (start === undefined) return [];
  const [from, until] = [zone.toInstant(start), zone.toInstant(start + shift.duration * 1_000)];
  if (until <= context.now) return [];
  const users = (shift.users ?? []).flatMap(id => context.emails.get(id) ?? []);
  const [user, ...others] = users;
  if (!user) {
    context.note(`${subject}, override ${shift.name}`, 'it has no user');
    return [];
  }
  const more = others.length > 0 ? `, and ${others.join(', ')} with them, which an override cannot do` : '';
  const override = { user, replaces: null, from, until };
  context.note(`${subject}, override`, `enter it: ${coverCommand(`${context.project}/${slug}`, override)}${more}`);
  return [override];
}

function fromSwap(
  swap: OnCallExport['shift_swaps'][number],
  slug: string,
  subject: string,
  context: ScheduleContext,
): NewOverride[] {
  const [from, until] = [Date.parse(swap.swap_start), Date.parse(swap.swap_end)];
  if (!(until > context.now)) return [];
  const [user, replaces] = [context.emails.get(swap.benefactor ?? ''), context.emails.get(swap.beneficiary)];
  if (!user || !replaces) {
    context.note(`${subject}, swap`, `${replaces ?? swap.beneficiary} asks for it, and no one has taken it yet`);
    return [];
  }
  const override = { user, replaces, from, until };
  context.note(`${subject}, swap`, `enter it: ${coverCommand(`${context.project}/${slug}`, override)}`);
  return [override];
}
