/** What is announced about a schedule: the context and the recipients of the event that it names in `on_change`. */
import type { Json, JsonObject } from '../../../core/json.ts';
import { changeLimits, type OnCallChange, type ShiftChange } from '../../../core/oncall/changes.ts';
import { listEventsUsingSchedule, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import type { SwapRow } from '../../../db/audience/on-call/swaps.ts';
import { findPeople } from '../../../db/audience/users.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { listUnresolved } from '../../../db/history/sources/incidents.ts';

/** Open incidents that an announcement lists. */
const maxIncidents = 10;

export interface Announcement {
  context: JsonObject;
  recipients: string[];
}

type Announced = Pick<ScheduleRow, 'project_id' | 'project' | 'slug' | 'name' | 'timezone'>;

export async function describeChange(
  db: Db,
  organizationId: number,
  schedule: Announced,
  change: OnCallChange,
): Promise<Announcement> {
  const { reason, leaves, takes_over, changes } = change;
  const involved = [change, ...changes].flatMap(one => [...one.leaves, ...one.takes_over]);
  const recipients = [...new Set(involved)];
  const nameOf = await findNames(db, organizationId, recipients);
  const people = (usernames: readonly string[]) => usernames.map(username => ({ username, name: nameOf(username) }));
  const [who, whom] = [takes_over, leaves].map(usernames => usernames.map(nameOf).join(', ')) as [string, string];
  const shiftOf = (one: ShiftChange) => ({
    at: iso(one.from),
    until: one.until === undefined ? null : iso(one.until),
    leaves: people(one.leaves),
    takes_over: people(one.takes_over),
  });
  return {
    context: {
      ...(await describeSchedule(db, organizationId, schedule)),
      title: titleOf(schedule, change, who, whom),
      reason,
      ...shiftOf(change),
      changes: changes.slice(0, changeLimits.listed).map(shiftOf),
      more_changes: Math.max(0, changes.length - changeLimits.listed),
    },
    recipients,
  };
}

/** Someone asks others to take a shift, or has found someone. */
export async function describeSwap(
  db: Db,
  organizationId: number,
  schedule: Announced,
  { id, user, accepted_by, starts_at, ends_at, message }: SwapRow,
): Promise<JsonObject> {
  const involved = [user, accepted_by].filter(name => name !== null);
  const nameOf = await findNames(db, organizationId, involved);
  const person = (username: string) => ({ username, name: nameOf(username) });
  const [from, until] = [starts_at, ends_at].map(at => formatLocal(at.getTime(), schedule.timezone));
  return {
    ...(await describeSchedule(db, organizationId, schedule)),
    title:
      accepted_by === null
        ? `${schedule.name}: ${nameOf(user)} asks who can take over from ${from} until ${until}`
        : `${schedule.name}: ${nameOf(accepted_by)} takes over from ${nameOf(user)} from ${from} until ${until}`,
    reason: accepted_by === null ? 'swap_requested' : 'swap_accepted',
    ...{ swap: id, message, at: starts_at.toISOString(), until: ends_at.toISOString() },
    leaves: [person(user)],
    takes_over: accepted_by === null ? [] : [person(accepted_by)],
    changes: [],
    more_changes: 0,
  };
}

/** The part of the context that all announcements have. */
async function describeSchedule(db: Db, organizationId: number, schedule: Announced): Promise<JsonObject> {
  const { project_id, project, slug, name, timezone } = schedule;
  const events = await listEventsUsingSchedule(db, organizationId, project_id, slug);
  const { count, incidents } = await listUnresolved(db, organizationId, events, maxIncidents);
  return { project, schedule: slug, name, timezone, open: { count, incidents: incidents as unknown as Json } };
}

/** Returns a function that names a user in a sentence. */
async function findNames(
  db: Db,
  organizationId: number,
  usernames: readonly string[],
): Promise<(username: string) => string> {
  const found = await findPeople(db, organizationId, [...usernames]);
  const names = new Map(found.map(one => [one.username, `${one.first_name} ${one.last_name}`.trim()]));
  return username => names.get(username) || username;
}

function titleOf({ name, timezone }: Announced, { reason, from }: OnCallChange, who: string, whom: string): string {
  const time = formatLocal(from, timezone);
  if (reason === 'hand_over') {
    if (who === '') return `${name}: no one takes over from ${whom}`;
    return whom === '' ? `${name}: ${who} is on call` : `${name}: ${who} takes over from ${whom}`;
  }
  if (who === '') return `${name}: ${whom} will not be on call from ${time}`;
  return `${name}: ${who} will be on call from ${time}${whom === '' ? '' : ` instead of ${whom}`}`;
}

/** Such as 4 Jan 2027, 09:00 (Europe/Berlin). */
function formatLocal(instant: number, timezone: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: timezone } as const;
  return `${new Intl.DateTimeFormat('en-GB', options).format(instant)} (${timezone})`;
}

const iso = (instant: number) => new Date(instant).toISOString();
