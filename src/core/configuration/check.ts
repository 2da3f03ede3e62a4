/**
 * Checks a document as far as possible without the database and reports all mistakes at once: those of the schema, and
 * rules that a schema cannot express. A field of the wrong type is reported and then skipped, so that one mistake does
 * not hide the next. Names that may exist in the database are returned as references, to be looked up there.
 */

import { findGuardMistakes } from '../decision/guards/guard.ts';
import { findQuietMistakes } from '../decision/quiet-hours.ts';
import { type FieldErrors, invalid } from '../errors.ts';
import { cleanJson, isObject, type JsonObject } from '../json.ts';
import type { CheckTemplate } from '../render/compile.ts';
import { fold } from '../text/text.ts';
import { checkCategory, checkChannel, checkMembers, checkScheduleEntry, checkUser } from './checks/audience.ts';
import { checkContextSchema, checkNotification } from './checks/events.ts';
import {
  type Checker,
  type CheckProvider,
  checkNames,
  checkTimezone,
  createRefer,
  type Entry,
  entries,
  quote,
  refusePlaceholders,
  type Scope,
  text,
} from './checks/shared.ts';
import { checkHeartbeat, checkSource, checkWatch } from './checks/sources.ts';
import { Document, type NounName, nouns, sectionsOf } from './document.ts';
import { checkLayout, type ReportError } from './messages.ts';
import type { EventReference, Reference, UserReference } from './references.ts';
import { addError, shapeErrors } from './shape.ts';

const maxErrors = 20;
/** Further mistakes are not recorded: 300,000 of them took 2 s. */
const maxReported = 1_000;
/** Levels of the document above free-form data, which may then be nested as deeply as in the bodies of the API. */
const freeFormDepth = 10;

interface CheckedDocument {
  document: Document;
  references: Reference[];
  eventReferences: EventReference[];
  userReferences: UserReference[];
}

/**
 * Throws `file.invalid` with the mistakes; normalizes the text of the document in place. Yields between entries so that
 * the caller can do other work: the filters of one document alone can take seconds.
 */
export function* checkDocument(
  value: unknown,
  checkProvider: CheckProvider,
  checkTemplate?: CheckTemplate,
): Generator<void, CheckedDocument> {
  const errors: FieldErrors = {};
  const document = cleanJson(value, errors, '', -freeFormDepth);
  yield;
  for (const { field, message } of shapeErrors(Document, document)) addError(errors, field || 'body', message);
  const references: Reference[] = [];
  const eventReferences: EventReference[] = [];
  const userReferences: UserReference[] = [];
  if (isObject(document)) {
    let reported = 0;
    const report = (at: string, message: string) => {
      if (reported++ < maxReported) addError(errors, at, message);
    };
    const checker = { report, checkProvider, checkTemplate, references, eventReferences, userReferences };
    yield* checkSection('organization', document.organizations, 'organizations', {}, checker);
  }
  throwIfAny(errors);
  return { document: document as Document, references, eventReferences, userReferences };
}

export function throwIfAny(errors: FieldErrors): void {
  const found = Object.entries(errors);
  if (found.length > 0) throw invalid(Object.fromEntries(found.slice(0, maxErrors)), 'file.invalid');
}

/** Checks the siblings of one section, and everything below them. */
function* checkSection(
  noun: NounName | 'user' | 'list',
  value: unknown,
  at: string,
  scope: Scope,
  checker: Checker,
): Generator<void, void> {
  const siblings = entries(value, at);
  refuseDuplicates(siblings, noun === 'user' ? 'email' : noun === 'list' ? 'name' : nouns[noun].key, checker.report, {
    isExact: noun === 'notification',
  });
  for (const one of siblings) {
    yield;
    yield* checks[noun]?.(one, checker, scope) ?? [];
    const inside = narrow(scope, noun, one.entry, checker);
    for (const [section, child] of sectionsOf(noun)) {
      yield* checkSection(child, one.entry[section], `${one.at}/${section}`, inside, checker);
    }
  }
}

/** Returns the scope of what is in the entry. */
function narrow(scope: Scope, noun: string, entry: JsonObject, checker: Checker): Scope {
  if (noun === 'project') return { ...scope, project: entry, refer: createRefer(scope.organization!, entry, checker) };
  if (noun === 'application') return { ...scope, application: entry };
  if (noun !== 'organization') return scope;
  const users = entries(entry.users, '').map(user => fold(text(user.entry.email)));
  return { organization: entry, usernames: entry.users === undefined ? undefined : new Set(users) };
}

type Check = (one: Entry, checker: Checker, scope: Scope) => Generator<void, void> | void;

/** Rules that schemas cannot express. */
const checks: { [noun in NounName | 'user' | 'list']?: Check } = {
  organization: ({ at, entry }, { report }) => {
    checkTimezone(entry.timezone, `${at}/timezone`, report);
    const mistakes = {
      quiet_hours: isObject(entry.quiet_hours) ? findQuietMistakes(entry.quiet_hours) : {},
      guard: isObject(entry.guard) ? findGuardMistakes(entry.guard) : {},
    };
    for (const [field, found] of Object.entries(mistakes)) {
      for (const [part, message] of Object.entries(found)) report(`${at}/${field}/${part}`, message);
    }
  },
  channel: checkChannel,
  layout: ({ at, entry }, { report, checkTemplate }) => checkLayout(entry.body, `${at}/body`, report, checkTemplate),
  category: checkCategory,
  webhook: (webhook, { report }) => {
    refusePlaceholders(webhook, report);
    checkNames(webhook.entry.types, `${webhook.at}/types`, report);
  },
  user: checkUser,
  list: checkMembers,
  event: ({ at, entry }, { report }, { refer }) => {
    refer!('category', entry.category, `${at}/category`);
    checkContextSchema(entry.context_schema, `${at}/context_schema`, report);
  },
  notification: checkNotification,
  source: checkSource,
  heartbeat: checkHeartbeat,
  watch: checkWatch,
  schedule: checkScheduleEntry,
};

function refuseDuplicates(
  siblings: Entry[],
  field: string,
  report: ReportError,
  { isExact }: { isExact: boolean },
): void {
  const identify = (name: string) => (isExact ? name : fold(name));
  const seen = new Map<string, string>();
  for (const { at, entry } of siblings) {
    const name = entry[field];
    if (typeof name !== 'string') continue;
    const first = seen.get(identify(name));
    if (first !== undefined) report(`${at}/${field}`, `${quote(name)} is duplicated, first used at ${first}`);
    else seen.set(identify(name), at);
  }
}
