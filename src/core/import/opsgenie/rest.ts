/** What no part of the file is for. */
import type { AddNote, ImportOptions, SourceEntry } from '../imported.ts';
import { isoTime } from '../overrides.ts';
import type { People } from './people.ts';
import { type OpsgenieExport, readTime } from './resources.ts';

interface RestContext extends ImportOptions {
  people: People;
  /** By the ids of their integrations. */
  sources: ReadonlyMap<string, SourceEntry>;
  note: AddNote;
}

export function noteTheRest(data: OpsgenieExport, context: RestContext): void {
  const { people, note, now } = context;
  const used = new Set(data.integrations.flatMap(({ teamId }) => teamId ?? []));
  for (const team of data.teams) {
    const rules = (team.routingRules ?? []).filter(({ isDefault }) => !isDefault).length;
    if (rules > 0 && !used.has(team.id))
      note(`team ${team.name}`, 'its routing rules are routes only of integrations whose alerts name it as responder');
  }
  for (const { fromUser, toUser, startDate, endDate } of data.forwarding_rules) {
    const subject = `forwarding of ${fromUser.username ?? fromUser.id}`;
    const until = readTime(endDate);
    if (until === undefined || readTime(startDate) === undefined) note(subject, 'it has no valid dates');
    else if (until <= now) note(subject, 'it has ended');
    else if (!people.emailOf(fromUser) || !people.emailOf(toUser)) note(subject, 'one of its users does not exist');
    else
      note(
        subject,
        'it is an override of each schedule that the person is on: lists that name the person stay as they are',
      );
  }
  for (const { name, id, type, team, enabled } of data.policies) {
    const subject = `${type ?? 'alert'} policy ${name ?? id}${team ? ` of team ${team}` : ''}`;
    const advice =
      type === 'notification'
        ? 'to delay, suppress or digest, see the steps, filters and throttling of the event, and silences'
        : 'to change alerts, see `mapping` and `routes` of the source';
    note(subject, enabled === false ? 'it is disabled' : `policies are not carried over: ${advice}`);
  }
  for (const maintenance of data.maintenance) noteMaintenance(maintenance, context);
  for (const name of data.unread)
    note(name, 'they were not read: the key or the plan of the account does not give access to them');
}

/** Disabled integrations become silences of their sources. */
function noteMaintenance(
  { id, description, time = {}, rules = [] }: OpsgenieExport['maintenance'][number],
  { now, project, sources, note }: RestContext,
): void {
  const reason = description || 'Maintenance';
  const subject = `maintenance ${description || id}`;
  const [from, until] = [readTime(time.startDate), readTime(time.endDate)];
  if (until === undefined) {
    note(subject, 'it has no end, and silences have one: see `belfry silence`');
    return;
  }
  if (until <= now) {
    note(subject, 'it has ended');
    return;
  }
  const text = reason.replaceAll(/[^\p{L}\p{N} .,:;/()-]+/gu, ' ').slice(0, 200);
  for (const { state, entity } of rules) {
    const source = sources.get(entity?.id ?? '');
    if (state === 'disabled' && source) {
      const begin = from !== undefined && from > now ? ` --from ${isoTime(from)}` : '';
      const [org] = project.split('/');
      note(
        subject,
        `enter it: belfry silence ${org} source=${source.slug}${begin} --until ${isoTime(until)} --reason '${text}'`,
      );
    } else
      note(
        subject,
        `its rule for ${entity?.type ?? 'something'} ${entity?.id ?? ''}, ${state ?? ''}, is not carried over`,
      );
  }
  if (rules.length === 0) note(subject, 'it has no rules');
}
