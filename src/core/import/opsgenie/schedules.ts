/** Schedules of Opsgenie. All of their rotations are on call together. */
import type { Layer } from '../../oncall/rotation.ts';
import { zoneOf } from '../../oncall/zone.ts';
import type { ImportedSchedule } from '../imported.ts';
import { refuseLayers } from '../layers.ts';
import { makeUnique, nameOf, readTimezone } from '../names.ts';
import type { ScheduleContext } from './context.ts';
import { findFirstRecipients } from './escalations.ts';
import { toOverrides } from './overrides.ts';
import type { People } from './people.ts';
import { type OpsgenieEscalation, type OpsgenieReference, type OpsgenieSchedule, readTime } from './resources.ts';
import { toLayer } from './rotations.ts';

/** Returns undefined if nothing of it can be carried over. */
export function toSchedule(
  schedule: OpsgenieSchedule,
  slug: string,
  context: ScheduleContext,
): ImportedSchedule | undefined {
  const { note, now } = context;
  const subject = `schedule ${schedule.name}`;
  const refuse = (reason: string) => {
    note(subject, `${reason}: steps that name it are left out`);
    return undefined;
  };
  if (schedule.enabled === false) return refuse('it is disabled');
  const timezone = readTimezone(schedule.timezone ?? 'UTC');
  if (!timezone) return refuse(`its time zone, ${schedule.timezone}, is not known`);
  const unique = makeUnique(' ');
  const layers: Layer[] = [];
  const names = new Map<string, string>();
  for (const [i, rotation] of (schedule.rotations ?? []).entries()) {
    const name = nameOf(rotation.name ?? '', `Rotation ${i + 1}`);
    const at = `${subject}, rotation ${name}`;
    const layer = toLayer(rotation, unique(name), {
      zone: zoneOf(timezone),
      now,
      usersOf: participant => usersOf(participant, at, context),
      note: reason => note(at, reason),
    });
    if (typeof layer === 'string') {
      note(at, layer);
      continue;
    }
    layers.push(layer);
    for (const key of [rotation.id, rotation.name]) if (key) names.set(key, layer.name);
  }
  const refused = refuseLayers(layers);
  if (refused) return refuse(refused);
  const rules = { timezone, combine: 'all' as const, layers };
  return {
    entry: {
      slug,
      name: nameOf(schedule.name, slug),
      timezone,
      ...(layers.length > 1 && { combine: 'all' as const }),
      layers,
    },
    overrides: toOverrides(schedule, slug, rules, names, context),
    expected: readTimeline(schedule, subject, context),
  };
}

/** Who is on call when a participant of a rotation is. */
function usersOf(participant: OpsgenieReference, subject: string, { data, people, note }: ScheduleContext): string[] {
  const { type, id, name } = participant;
  const named = participant.username ?? name ?? id ?? '';
  if (type === 'none') return [];
  if (type === 'team') {
    const team = people.teamOf(participant);
    note(subject, `its participant ${named} is a team: all its present members are on call together`);
    return team ? people.membersOf(team) : [];
  }
  if (type === 'escalation') {
    const escalation = data.escalations.find(one => one.id === id) ?? data.escalations.find(one => one.name === name);
    note(subject, `its participant ${named} is an escalation: those whom it notifies first are on call`);
    return escalation ? escalationUsers(escalation, people) : [];
  }
  const email = type === 'user' ? people.emailOf(participant) : undefined;
  if (!email)
    note(
      subject,
      `its participant ${named || '(none)'}, of the type ${type ?? '(none)'}, does not exist: a turn of no one`,
    );
  return email ? [email] : [];
}

function escalationUsers(escalation: OpsgenieEscalation, people: People): string[] {
  const users = findFirstRecipients(escalation).flatMap(recipient => {
    if (recipient.type !== 'team') return people.emailOf(recipient) ?? [];
    const team = people.teamOf(recipient);
    return team ? people.membersOf(team) : [];
  });
  return [...new Set(users)];
}

function readTimeline(
  { timeline }: OpsgenieSchedule,
  subject: string,
  context: ScheduleContext,
): ImportedSchedule['expected'] {
  if (!timeline) return undefined;
  const [start, until] = [readTime(timeline.startDate), readTime(timeline.endDate)];
  const periods = (timeline.finalTimeline.rotations ?? []).flatMap(({ periods: own = [] }) => own);
  const silent = { ...context, note: () => {} };
  const shifts = periods.flatMap(({ startDate, endDate, recipient }) => {
    const times = { from: readTime(startDate)!, until: readTime(endDate)! };
    if (!recipient || recipient.type === 'none') return [];
    const users = usersOf(recipient, subject, silent);
    const unknown = recipient.username ?? recipient.name ?? recipient.id ?? '?';
    return (users.length > 0 ? users : [unknown]).map(user => ({ user, ...times }));
  });
  if (start === undefined || until === undefined || shifts.some(one => Number.isNaN(one.from + one.until))) {
    context.note(subject, 'its timeline cannot be read: it is not compared');
    return undefined;
  }
  // Overrides that have ended are not carried over.
  return { from: Math.max(start, context.now), until, shifts };
}
