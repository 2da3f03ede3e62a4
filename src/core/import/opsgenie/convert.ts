/** Opsgenie's configuration as Belfry's. */
import type { EventEntry, Imported, ImportedSchedule, ImportOptions, Note, SourceEntry } from '../imported.ts';
import { makeSlugs, nameOf } from '../names.ts';
import { type EscalationContext, planSteps, toEvent } from './escalations.ts';
import { toSource } from './integrations.ts';
import { toPeople } from './people.ts';
import type { OpsgenieExport, OpsgenieReference } from './resources.ts';
import { noteTheRest } from './rest.ts';
import { toSchedule } from './schedules.ts';

export function convertOpsgenie(data: OpsgenieExport, options: ImportOptions): Imported {
  const notes = new Map<string, Note>();
  const note = (subject: string, reason: string) => void notes.set(`${subject}: ${reason}`, { subject, reason });
  const people = toPeople(data, note);

  const scheduleSlug = makeSlugs('schedule');
  const schedules = new Map<string, ImportedSchedule>();
  for (const schedule of data.schedules) {
    const made = toSchedule(schedule, scheduleSlug(schedule.name), { ...options, data, people, note });
    if (made) schedules.set(schedule.id, made);
  }

  const find = <Item extends { id: string; name: string }>(items: readonly Item[], reference: OpsgenieReference) =>
    items.find(({ id }) => id === reference.id) ?? items.find(({ name }) => name === reference.name);
  const scheduleOf = (reference: OpsgenieReference) =>
    schedules.get(find(data.schedules, reference)?.id ?? '')?.entry.slug;
  const context: EscalationContext = { channels: options.channels, people, scheduleOf, note };
  const slugs = makeSlugs('event');
  const events = new Map<string, EventEntry>();
  for (const escalation of data.escalations) {
    const subject = `escalation ${escalation.name}`;
    const steps = planSteps(escalation, subject, context);
    events.set(
      `escalation ${escalation.id}`,
      toEvent(escalation.name, slugs(escalation.name), steps, subject, context),
    );
  }
  /** Events for what is notified without an escalation are made when they are needed. */
  const eventOf = (reference: OpsgenieReference): string | undefined => {
    if (reference.type === 'escalation') return events.get(`escalation ${find(data.escalations, reference)?.id}`)?.slug;
    const schedule = reference.type === 'schedule' ? scheduleOf(reference) : undefined;
    const user = reference.type === 'user' ? people.emailOf(reference) : undefined;
    const recipients = schedule ? { schedule } : user ? { list: people.listOf([user])! } : undefined;
    if (!recipients) return undefined;
    const name = schedule ? `On call: ${find(data.schedules, reference)!.name}` : user!;
    const key = `${reference.type} ${schedule ?? user}`;
    const event = events.get(key) ?? toEvent(name, slugs(name), [{ minutes: 0, recipients }], name, context);
    events.set(key, event);
    return event.slug;
  };
  const quietEvent = () => {
    const event = events.get('quiet') ?? { slug: slugs('not-notified'), name: 'Not notified' };
    events.set('quiet', event);
    return event.slug;
  };
  const sourceSlug = makeSlugs('source');
  const sources = new Map<string, SourceEntry>();
  for (const integration of data.integrations) {
    const named = { ...integration, name: nameOf(integration.name, 'Integration') };
    const source = toSource(named, sourceSlug(named.name), { data, people, eventOf, quietEvent, note });
    if (source) sources.set(integration.id, source);
  }
  noteTheRest(data, { ...options, people, sources, note });
  return {
    users: people.users,
    lists: people.lists(),
    schedules: [...schedules.values()],
    events: [...events.values()],
    sources: [...sources.values()],
    notes: [...notes.values()],
  };
}
