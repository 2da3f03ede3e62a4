/** Overrides and forwardings that have not ended. */
import { compileSchedule, listShifts, type Override, type ScheduleRules, type Shift } from '../../oncall/schedule.ts';
import { coverCommand, type NewOverride } from '../overrides.ts';
import type { ScheduleContext } from './context.ts';
import { type OpsgenieSchedule, readTime } from './resources.ts';

/** More than that are shifts of hours over months. */
const maxCommands = 100;

/** `names` are those of layers, by ids and names of rotations. */
export function toOverrides(
  schedule: OpsgenieSchedule,
  slug: string,
  rules: ScheduleRules,
  names: ReadonlyMap<string, string>,
  context: ScheduleContext,
): Override[] {
  const { people, now, note } = context;
  const subject = `schedule ${schedule.name}`;
  const found: NewOverride[] = [];
  const enter = (kind: string, overrides: NewOverride[]) => {
    for (const override of overrides) {
      note(`${subject}, ${kind}`, `enter it: ${coverCommand(`${context.project}/${slug}`, override)}`);
      found.push(override);
    }
  };
  let ended = 0;
  for (const { alias, user, startDate, endDate, rotations = [] } of schedule.overrides ?? []) {
    const at = `override ${alias ?? ''}`.trim();
    const [from, until] = [readTime(startDate), readTime(endDate)];
    const email = people.emailOf(user);
    if (from === undefined || until === undefined || until <= from) note(`${subject}, ${at}`, 'it has no valid dates');
    else if (until <= now) ended++;
    else if (!email)
      note(`${subject}, ${at}`, `it is for ${user.username ?? user.name ?? user.id ?? 'no one'}, who is no user here`);
    else {
      const layers = new Set(rotations.flatMap(({ id = '', name = '' }) => names.get(id) ?? names.get(name) ?? []));
      const isForAll = rotations.length === 0 || layers.size === rules.layers.length;
      const whole = { user: email, replaces: null, from, until };
      const made = isForAll ? [whole] : forRotations(whole, layers, rules, reason => note(`${subject}, ${at}`, reason));
      enter(at, made);
    }
  }
  if (ended > 0) note(subject, `${ended} of its overrides have ended`);
  const users = new Set([...rules.layers.flatMap(layer => layer.users.flat()), ...found.map(({ user }) => user)]);
  for (const { fromUser, toUser, startDate, endDate } of context.data.forwarding_rules) {
    const [from, until] = [readTime(startDate), readTime(endDate)];
    const [replaces, user] = [people.emailOf(fromUser), people.emailOf(toUser)];
    // What cannot be carried over at all is listed once, not for each schedule.
    if (from === undefined || until === undefined || until <= now || !replaces || !user || !users.has(replaces))
      continue;
    enter('forwarding', [{ user, replaces, from, until }]);
  }
  return found.map((override, id) => ({ ...override, id }));
}

/** Overrides here replace one user, or everyone: one for each shift of these layers. */
function forRotations(
  whole: NewOverride,
  layers: ReadonlySet<string>,
  rules: ScheduleRules,
  note: (reason: string) => void,
): NewOverride[] {
  const { user, from, until } = whole;
  const own = rules.layers.filter(({ name }) => layers.has(name));
  const others = rules.layers.filter(({ name }) => !layers.has(name));
  const shiftsOf = (some: ScheduleRules['layers']) =>
    listShifts(compileSchedule({ ...rules, layers: some }), from, until);
  if (own.length === 0) {
    note('none of its rotations is carried over');
    return [];
  }
  const othersOnCall = shiftsOf(others).filter(({ users }) => users.length > 0);
  const made = shiftsOf(own).flatMap(({ users, ...shift }): NewOverride[] => {
    const times = { from: shift.from, until: shift.until };
    if (users.length > 0) return users.flatMap(replaces => (replaces === user ? [] : [{ user, replaces, ...times }]));
    if (othersOnCall.some(other => overlaps(other, times))) {
      note('at some of its times, only other rotations are on call, and an override cannot add someone to them');
      return [];
    }
    return [{ user, replaces: null, ...times }];
  });
  if (
    othersOnCall.some(other =>
      made.some(one => one.replaces && other.users.includes(one.replaces) && overlaps(other, one)),
    )
  )
    note('someone whom it replaces is also on call by another rotation, and is replaced there, too');
  if (made.length <= maxCommands) return made;
  note(`it covers ${made.length} shifts, more than ${maxCommands}: enter it for the whole time with \`belfry cover\``);
  return [];
}

const overlaps = (a: Pick<Shift, 'from' | 'until'>, b: Pick<Shift, 'from' | 'until'>) =>
  a.from < b.until && b.from < a.until;
