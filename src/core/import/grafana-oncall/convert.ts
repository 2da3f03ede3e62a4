/** Grafana OnCall's configuration as Belfry's. */
import type { UserEntry } from '../../configuration/document.ts';
import { fold, isEmail } from '../../text/text.ts';
import type { AddNote, EventEntry, Imported, ImportedSchedule, ImportOptions, Note } from '../imported.ts';
import { makeLists } from '../lists.ts';
import { makeSlugs, nameOf, readTimezone } from '../names.ts';
import { toEvent } from './chains.ts';
import { toSource } from './integrations.ts';
import type { OnCallExport } from './resources.ts';
import { toSchedule } from './schedules.ts';

export function convertGrafanaOnCall(data: OnCallExport, options: ImportOptions): Imported {
  const notes: Note[] = [];
  const note = (subject: string, reason: string) => void notes.push({ subject, reason });
  const { users, emails } = toUsers(data, note);
  const emailsOf = (ids: readonly string[]) => [...new Set(ids.flatMap(id => emails.get(id) ?? []))];
  const membersOf = (team: string) => data.users.filter(({ teams }) => teams?.includes(team)).map(({ id }) => id);
  const lists = makeLists(data.teams.map(team => ({ ...team, members: emailsOf(membersOf(team.id)) })));

  const scheduleSlug = makeSlugs('schedule');
  const schedules = new Map<string, ImportedSchedule>();
  for (const schedule of data.schedules) {
    const made = toSchedule(schedule, scheduleSlug(schedule.name), { ...options, data, emails, note });
    if (made) schedules.set(schedule.id, made);
  }

  const slugs = new Map([...schedules].map(([id, { entry }]) => [id, entry.slug]));
  const context = {
    channels: options.channels,
    schedules: slugs,
    listOf: (ids: readonly string[]) => lists.listOf(emailsOf(ids)),
    teamList: lists.teamList,
    note,
  };
  const eventSlug = makeSlugs('chain');
  const events = new Map<string, EventEntry>();
  for (const chain of data.escalation_chains) {
    const policies = data.escalation_policies.filter(policy => policy.escalation_chain_id === chain.id);
    const named = { ...chain, name: nameOf(chain.name, 'Chain') };
    events.set(chain.id, toEvent(named, policies, eventSlug(chain.name), context));
  }
  const eventSlugs = new Map([...events].map(([id, { slug }]) => [id, slug]));
  let quiet: EventEntry | undefined;
  const quietEvent = () => {
    quiet ??= { slug: eventSlug('not-escalated'), name: 'Not escalated' };
    return quiet.slug;
  };
  const sourceSlug = makeSlugs('source');
  const sources = data.integrations.flatMap(integration => {
    const named = { ...integration, name: nameOf(integration.name.replaceAll(/:[a-z_]+:/g, ''), 'Integration') };
    return toSource(named, sourceSlug(named.name), { data, events: eventSlugs, quietEvent, note }) ?? [];
  });

  listTheRest(data, note);
  return {
    users,
    lists: lists.all(),
    schedules: [...schedules.values()],
    events: [...events.values(), ...(quiet ? [quiet] : [])],
    sources,
    notes,
  };
}

function toUsers(data: OnCallExport, note: AddNote) {
  const users = new Map<string, UserEntry>();
  const emails = new Map<string, string>();
  for (const { id, email, username, timezone: zone, slack } of data.users) {
    if (!email || !isEmail(email)) {
      note(`user ${username}`, 'has no email that can be used');
      continue;
    }
    const own = fold(email);
    emails.set(id, own);
    if (users.has(own)) continue;
    const timezone = readTimezone(zone);
    users.set(own, {
      email: own,
      ...(timezone && { timezone }),
      ...(slack?.user_id && { addresses: [{ name: 'slack', value: slack.user_id }] }),
    });
  }
  return { users: [...users.values()], emails };
}

/** What no part of the file is for. */
function listTheRest(data: OnCallExport, note: AddNote): void {
  const rules = new Set(data.personal_notification_rules.map(({ user_id }) => user_id)).size;
  if (rules > 0)
    note(
      'personal notification rules',
      `those of ${rules} users are not carried over: steps use the channels of the file`,
    );
  if (data.users.length > 0)
    note(
      'phone numbers',
      "OnCall's API does not reveal them: users enter them on their preference page, or import a list",
    );
  for (const { id, slack } of data.user_groups)
    note(`user group ${slack?.handle ?? slack?.name ?? id}`, 'the members of Slack user groups are not known');
}
