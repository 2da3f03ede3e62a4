/** PagerDuty's configuration as Belfry's. */
import { scheduleLimits } from '../../oncall/schedule-rules.ts';
import type { EventEntry, Imported, ImportedSchedule, ImportOptions, Note } from '../imported.ts';
import { makeLists } from '../lists.ts';
import { makeSlugs, makeUnique, nameOf } from '../names.ts';
import { toEvent, type Variant } from './policies.ts';
import type { PagerDutyExport } from './resources.ts';
import { toSchedule } from './schedules.ts';
import { toSources } from './services.ts';
import { toShiftSchedule } from './shift-schedules.ts';
import { toUsers } from './users.ts';

export function convertPagerDuty(data: PagerDutyExport, options: ImportOptions): Imported {
  const notes: Note[] = [];
  const note = (subject: string, reason: string) => void notes.push({ subject, reason });
  const { users, emails } = toUsers(data, note);
  const emailsOf = (ids: readonly string[]) => [...new Set(ids.flatMap(id => emails.get(id) ?? []))];
  const members = new Map<string, string[]>();
  for (const { id, teams = [] } of data.users) {
    for (const team of teams) {
      const own = members.get(team.id);
      if (own) own.push(id);
      else members.set(team.id, [id]);
    }
  }
  const lists = makeLists(data.teams.map(team => ({ ...team, members: emailsOf(members.get(team.id) ?? []) })));
  const schedules = toSchedules(data, { ...options, emails, note });
  const slugs = new Map([...schedules].map(([id, { entry }]) => [id, entry.slug]));
  const listOf = (ids: readonly string[]) => lists.listOf(emailsOf(ids));
  const context = { channels: options.channels, schedules: slugs, listOf, note };

  const events: EventEntry[] = [];
  const eventSlug = makeSlugs('policy');
  const eventName = makeUnique(' ');
  const policies = new Map(data.escalation_policies.map(policy => [policy.id, policy]));
  const made = new Map<string, string>();
  const reported = new Set<string>();
  /** A policy becomes an event for each urgency and timeout that its services have. */
  const eventOf = (id: string, variant: Variant): string | undefined => {
    const policy = policies.get(id);
    if (!policy) return undefined;
    const key = `${id} ${variant.isUrgent} ${variant.expiresSeconds}`;
    const known = made.get(key);
    if (known) return known;
    const name = eventName(nameOf(`${policy.name}${variant.isUrgent ? '' : ' (low urgency)'}`, 'Policy'));
    const named = { slug: eventSlug(name), name };
    // What is remarkable about the policy is said once.
    const own = reported.has(id) ? { ...context, note: () => {} } : context;
    reported.add(id);
    events.push(toEvent(policy, named, variant, own));
    made.set(key, named.slug);
    return named.slug;
  };
  const sources = toSources(data, { ...options, eventOf, note });
  for (const { id } of data.escalation_policies) {
    if (!reported.has(id)) eventOf(id, { isUrgent: true, expiresSeconds: 0 });
  }
  listTheRest(data, note);
  return { users, lists: lists.all(), schedules: [...schedules.values()], events, sources, notes };
}

function toSchedules(data: PagerDutyExport, context: Parameters<typeof toSchedule>[2]): Map<string, ImportedSchedule> {
  const slug = makeSlugs('schedule');
  const schedules = new Map<string, ImportedSchedule>();
  const add = (id: string, name: string, make: (own: string) => ImportedSchedule | undefined) => {
    const own = slug(name);
    const found = make(own);
    if (found && schedules.size === scheduleLimits.schedules)
      context.note(`schedule ${name}`, `a project has ${scheduleLimits.schedules} schedules at most: it is left out`);
    else if (found) schedules.set(id, found);
  };
  for (const one of data.schedules) add(one.id, one.name, own => toSchedule(one, own, context));
  for (const one of data.shift_schedules) add(one.id, one.name, own => toShiftSchedule(one, own, context));
  return schedules;
}

/** What no part of the file is for. */
function listTheRest(data: PagerDutyExport, note: (subject: string, reason: string) => void): void {
  const advice =
    'its rules and keys are not carried over: give its senders the key of a source, and write its rules as `routes`';
  for (const { name } of data.orchestrations) note(`event orchestration ${name}`, advice);
  for (const { name } of data.rulesets) note(`ruleset ${name}`, advice);
  for (const what of data.not_read)
    note(what, 'it was not read: the account does not have it, or the token must not read it');
}
