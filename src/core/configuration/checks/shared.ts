/** What the checks of all nouns share: what an entry is in, names that may exist in the database, and checks of fields. */

import { generalSlug } from '../../decision/preferences.ts';
import { isTimezone, notATimezone } from '../../decision/quiet-hours.ts';
import { findExpressionMistake, findFilterMistake } from '../../expressions/expressions.ts';
import { isObject, type JsonObject } from '../../json.ts';
import type { CheckTemplate } from '../../render/compile.ts';
import type { ReportError } from '../messages.ts';
import type { ProviderEntry } from '../nouns/channel.ts';
import {
  type EventReference,
  identityOf,
  listChoices,
  type Reference,
  type UserReference,
  unknownName,
} from '../references.ts';

/** Returns the mistakes of a provider entry on a channel of this type; `medium` is empty for an unknown type. */
export type CheckProvider = (entry: ProviderEntry, medium: string) => { field: string; message: string }[];

const placeholder = '${env:';

export interface Entry {
  at: string;
  entry: JsonObject;
}

export interface Checker {
  report: ReportError;
  checkProvider: CheckProvider;
  checkTemplate: CheckTemplate | undefined;
  references: Reference[];
  eventReferences: EventReference[];
  userReferences: UserReference[];
}

/** What an entry is in. */
export interface Scope {
  organization?: JsonObject;
  /** Of the users in the file; undefined: it does not manage them. */
  usernames?: Set<string>;
  refer?: Refer;
  project?: JsonObject;
  application?: JsonObject;
}

export type Refer = (kind: Reference['kind'], name: unknown, path: string) => void;

/** Returns a function that reports names which are neither in the file nor can be in the database. */
export function createRefer(organization: JsonObject, project: JsonObject, { report, references }: Checker): Refer {
  const both = (section: string) => [...entries(project[section], ''), ...entries(organization[section], '')];
  const names = {
    category: [generalSlug, ...entries(organization.categories, '').map(one => text(one.entry.slug))],
    list: entries(project.distribution_lists, '').map(list => text(list.entry.name)),
    channel: both('channels').flatMap(channel => [text(channel.entry.slug), text(channel.entry.type)]),
    layout: both('layouts').map(layout => text(layout.entry.name)),
    schedule: entries(project.schedules, '').map(schedule => text(schedule.entry.slug)),
  };
  const identities: { [kind in Reference['kind']]?: Set<string> } = {};
  const choices: { [kind in Reference['kind']]?: string } = {};
  // A name that is not in the file can only be in a section that the file does not manage.
  const open = {
    category: organization.categories === undefined,
    list: project.distribution_lists === undefined,
    channel: project.channels === undefined || organization.channels === undefined,
    layout: project.layouts === undefined || organization.layouts === undefined,
    schedule: project.schedules === undefined,
  };
  return (kind, name, path) => {
    if (typeof name !== 'string') return;
    identities[kind] ??= new Set(names[kind].map(candidate => identityOf(kind, candidate)));
    if (identities[kind].has(identityOf(kind, name))) return;
    if (!open[kind]) {
      choices[kind] ??= listChoices(names[kind]);
      report(path, unknownName(kind, name, choices[kind]));
    } else {
      const [org, prj] = [text(organization.slug), text(project.slug)];
      references.push({ at: path, kind, name, organization: org, project: prj });
    }
  };
}

/** An event that the file does not have can only exist if the file does not manage the events of the application. */
export function referToEvent(
  event: unknown,
  at: string,
  { organization, project, application }: Scope,
  report: ReportError,
  references: EventReference[],
): void {
  if (typeof event !== 'string') return;
  const known = entries(application!.events, '').map(one => text(one.entry.slug));
  if (known.includes(event)) return;
  if (application!.events !== undefined) {
    report(at, `there is no event ${quote(event)} in this application (${listChoices(known)})`);
    return;
  }
  const slugs = { org: text(organization!.slug), prj: text(project!.slug), app: text(application!.slug), evt: event };
  references.push({ at, slugs });
}

export function checkNames(
  value: unknown,
  at: string,
  report: ReportError,
  visit: (name: unknown, path: string) => void = () => {},
): void {
  if (!Array.isArray(value)) return;
  const seen = new Set<unknown>();
  for (const [i, name] of value.entries()) {
    if (seen.has(name)) report(`${at}/${i}`, `${quote(name)} is listed twice`);
    else visit(name, `${at}/${i}`);
    seen.add(name);
  }
}

export function checkFilter(value: unknown, at: string, report: ReportError): void {
  if (typeof value !== 'string' || value === '') return;
  const mistake = findFilterMistake(value);
  if (mistake) report(at, mistake);
}

export function checkExpression(value: unknown, at: string, report: ReportError): void {
  const mistake = typeof value === 'string' && value !== '' ? findExpressionMistake(value) : undefined;
  if (mistake) report(at, mistake);
}

export function checkTimezone(value: unknown, at: string, report: ReportError): void {
  if (typeof value === 'string' && value !== '' && !isTimezone(value)) report(at, notATimezone);
}

/** Refuses variables that were not replaced: they would be sent to the provider literally. */
export function refusePlaceholders({ at, entry }: Entry, report: ReportError): void {
  for (const [field, value] of Object.entries(entry)) {
    if (typeof value !== 'string' || !value.includes(placeholder)) continue;
    report(
      `${at}/${field}`,
      `contains ${placeholder}…}: variables are only replaced by the command line, and only when they have a valid name`,
    );
  }
}

export function entries(value: unknown, at: string): Entry[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry, i) => ({ at: `${at}/${i}`, entry })).filter(({ entry }) => isObject(entry));
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function quote(value: unknown): string {
  return JSON.stringify(value);
}
