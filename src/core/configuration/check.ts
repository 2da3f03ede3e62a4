/**
 * Checks a document as far as possible without the database and reports all mistakes at once: those of the schema, and
 * rules that a schema cannot express. A field of the wrong type is reported and then skipped, so that one mistake does
 * not hide the next. Names that may exist in the database are returned as references, to be looked up there.
 */

import { findSchemaMistakes } from '../context-schema/schema.ts';
import { findDigestMistake } from '../decision/digest.ts';
import { generalSlug } from '../decision/preferences.ts';
import { findQuietMistakes, isTimezone, notATimezone } from '../decision/quiet-hours.ts';
import { findStepMistakes } from '../decision/steps.ts';
import { isLongThrottle, throttleLimits } from '../decision/throttle.ts';
import { type FieldErrors, invalid } from '../errors.ts';
import { findFilterMistake } from '../expressions/expressions.ts';
import { findRetryMistake } from '../history/retries.ts';
import { cleanJson, isObject, type JsonObject } from '../json.ts';
import type { CheckTemplate } from '../render/compile.ts';
import { fold, isEmail, readAddress } from '../text/text.ts';
import { Document, type NounName, nouns, sectionsOf } from './document.ts';
import { checkLayout, checkLocale, checkMessage, type ReportError } from './messages.ts';
import type { ProviderEntry } from './nouns/channel.ts';
import { media } from './nouns/schemas.ts';
import { identityOf, listChoices, type Reference, unknownName } from './references.ts';
import { addError, shapeErrors } from './shape.ts';

/** Returns the mistakes of a provider entry on a channel of this type; `medium` is empty for an unknown type. */
type CheckProvider = (entry: ProviderEntry, medium: string) => { field: string; message: string }[];

const maxErrors = 20;
/** Further mistakes are not recorded: 300,000 of them took 2 s. */
const maxReported = 1_000;
const placeholder = '${env:';
/** Levels of the document above free-form data, which may then be nested as deeply as in the bodies of the API. */
const freeFormDepth = 10;

/**
 * Throws `file.invalid` with the mistakes; normalizes the text of the document in place. Yields between entries so that
 * the caller can do other work: the filters of one document alone can take seconds.
 */
export function* checkDocument(
  value: unknown,
  checkProvider: CheckProvider,
  checkTemplate?: CheckTemplate,
): Generator<void, { document: Document; references: Reference[] }> {
  const errors: FieldErrors = {};
  const document = cleanJson(value, errors, '', -freeFormDepth);
  yield;
  for (const { field, message } of shapeErrors(Document, document)) addError(errors, field || 'body', message);
  const references: Reference[] = [];
  if (isObject(document)) {
    let reported = 0;
    const report = (at: string, message: string) => {
      if (reported++ < maxReported) addError(errors, at, message);
    };
    const checker = { report, checkProvider, checkTemplate, references };
    yield* checkSection('organization', document.organizations, 'organizations', {}, checker);
  }
  throwIfAny(errors);
  return { document: document as Document, references };
}

export function throwIfAny(errors: FieldErrors): void {
  const found = Object.entries(errors);
  if (found.length > 0) throw invalid(Object.fromEntries(found.slice(0, maxErrors)), 'file.invalid');
}

interface Entry {
  at: string;
  entry: JsonObject;
}

interface Checker {
  report: ReportError;
  checkProvider: CheckProvider;
  checkTemplate: CheckTemplate | undefined;
  references: Reference[];
}

/** What an entry is in. */
interface Scope {
  organization?: JsonObject;
  /** Of the users in the file; undefined: it does not manage them. */
  usernames?: Set<string>;
  refer?: Refer;
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
  if (noun === 'project') return { ...scope, refer: createRefer(scope.organization!, entry, checker) };
  if (noun !== 'organization') return scope;
  const users = entries(entry.users, '').map(user => fold(text(user.entry.email)));
  return { organization: entry, usernames: entry.users === undefined ? undefined : new Set(users) };
}

type Check = (one: Entry, checker: Checker, scope: Scope) => Generator<void, void> | void;

/** Rules that schemas cannot express. */
const checks: { [noun in NounName | 'user' | 'list']?: Check } = {
  organization: ({ at, entry }, { report }) => {
    checkTimezone(entry.timezone, `${at}/timezone`, report);
    if (!isObject(entry.quiet_hours)) return;
    for (const [field, message] of Object.entries(findQuietMistakes(entry.quiet_hours))) {
      report(`${at}/quiet_hours/${field}`, message);
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
};

type Refer = (kind: Reference['kind'], name: unknown, path: string) => void;

/** Returns a function that reports names which are neither in the file nor can be in the database. */
function createRefer(organization: JsonObject, project: JsonObject, { report, references }: Checker): Refer {
  const both = (section: string) => [...entries(project[section], ''), ...entries(organization[section], '')];
  const names = {
    category: [generalSlug, ...entries(organization.categories, '').map(one => text(one.entry.slug))],
    list: entries(project.distribution_lists, '').map(list => text(list.entry.name)),
    channel: both('channels').flatMap(channel => [text(channel.entry.slug), text(channel.entry.type)]),
    layout: both('layouts').map(layout => text(layout.entry.name)),
  };
  const identities: { [kind in Reference['kind']]?: Set<string> } = {};
  const choices: { [kind in Reference['kind']]?: string } = {};
  // A name that is not in the file can only be in a section that the file does not manage.
  const open = {
    category: organization.categories === undefined,
    list: project.distribution_lists === undefined,
    channel: project.channels === undefined || organization.channels === undefined,
    layout: project.layouts === undefined || organization.layouts === undefined,
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

function checkContextSchema(value: unknown, at: string, report: ReportError): void {
  if (!isObject(value)) return;
  for (const mistake of findSchemaMistakes(value)) report(mistake.at ? `${at}/${mistake.at}` : at, mistake.message);
}

function checkNotification({ at, entry }: Entry, { report, checkTemplate }: Checker, scope: Scope): void {
  const refer = scope.refer!;
  checkFilter(entry.filter, `${at}/filter`, report);
  if (isObject(entry.throttle)) {
    checkFilter(entry.throttle.key, `${at}/throttle/key`, report);
    const { per } = entry.throttle;
    if (typeof per === 'string' && isLongThrottle(per))
      report(`${at}/throttle/per`, `must be ${throttleLimits.days}d at most`);
    if (entry.throttle.overflow === 'digest' && isObject(entry.digest))
      report(`${at}/throttle/overflow`, 'must be drop when the notification has a digest');
  }
  checkDigest(entry, at, report);
  if (isObject(entry.recipients)) {
    checkFilter(entry.recipients.users, `${at}/recipients/users`, report);
    refer('list', entry.recipients.list, `${at}/recipients/list`);
  }
  const referToChannel = (name: unknown, path: string) => refer('channel', name, path);
  checkNames(entry.channels, `${at}/channels`, report, referToChannel);
  for (const mistake of findStepMistakes(entry)) report(`${at}/${mistake.at}`, mistake.message);
  for (const step of entries(entry.steps, `${at}/steps`)) {
    checkNames(step.entry.channels, `${step.at}/channels`, report, referToChannel);
    if (isObject(step.entry.recipients)) refer('list', step.entry.recipients.list, `${step.at}/recipients/list`);
  }
  checkNames(entry.environs, `${at}/environs`, report);
  if (isObject(entry.message)) refer('layout', entry.message.layout, `${at}/message/layout`);
  if (isObject(entry.overrides)) {
    for (const name of Object.keys(entry.overrides)) refer('channel', name, `${at}/overrides/${name}`);
  }
  checkMessage(entry, at, report, checkTemplate);
}

function checkDigest({ digest, priority, steps, throttle }: JsonObject, at: string, report: ReportError): void {
  if (steps !== undefined && isObject(throttle) && throttle.overflow === 'digest')
    report(`${at}/throttle/overflow`, 'must be drop when the notification has steps: steps cannot be digested');
  if (!isObject(digest)) return;
  if (steps !== undefined)
    report(`${at}/digest`, 'must be absent when the notification has steps: steps cannot be digested');
  checkFilter(digest.key, `${at}/digest/key`, report);
  const mistake = typeof digest.every === 'string' ? findDigestMistake(digest.every) : undefined;
  if (mistake) report(`${at}/digest/every`, mistake);
  if (priority === 'urgent')
    report(`${at}/digest`, 'must be absent when the priority is urgent: urgent messages do not wait');
}

function checkNames(
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

function checkFilter(value: unknown, at: string, report: ReportError): void {
  if (typeof value !== 'string' || value === '') return;
  const mistake = findFilterMistake(value);
  if (mistake) report(at, mistake);
}

function checkChannel(channel: Entry, { report, checkProvider }: Checker): void {
  // An unknown type has been reported already: its providers are checked without one.
  const medium = media.find(type => type === channel.entry.type) ?? '';
  const mistake = findRetryMistake(medium, channel.entry.retry);
  if (mistake) report(`${channel.at}/${mistake.field}`, mistake.message);
  for (const provider of entries(channel.entry.providers, `${channel.at}/providers`)) {
    refusePlaceholders(provider, report);
    if (typeof provider.entry.use !== 'string') continue;
    for (const { field, message } of checkProvider(provider.entry as ProviderEntry, medium)) {
      report(field ? `${provider.at}/${field}` : provider.at, message);
    }
  }
}

function checkTimezone(value: unknown, at: string, report: ReportError): void {
  if (typeof value === 'string' && value !== '' && !isTimezone(value)) report(at, notATimezone);
}

function checkCategory({ at, entry }: Entry, { report }: Checker): void {
  const isRequired = entry.kind === 'required';
  if (isRequired && entry.default === false) report(`${at}/default`, 'must be true: a required category is always on');
  if (!isRequired && entry.quiet_hours === 'ignore') {
    report(`${at}/quiet_hours`, 'must be respect: only a required category may ignore quiet hours');
  }
  if (isRequired && entry.track === true) {
    report(`${at}/track`, 'must be false: recipients cannot turn a required category off, so it is never tracked');
  }
  for (const type of isObject(entry.channel_defaults) ? Object.keys(entry.channel_defaults) : []) {
    if (isRequired) report(`${at}/channel_defaults/${type}`, 'must be absent: a required category is always on');
    else if (!(media as readonly string[]).includes(type)) {
      report(`${at}/channel_defaults/${type}`, `is not a channel type (use one of ${media.join(', ')})`);
    }
  }
  checkNames(entry.channels, `${at}/channels`, report);
  for (const locale of isObject(entry.locales) ? Object.keys(entry.locales) : []) {
    checkLocale(locale, `${at}/locales/${locale}`, report);
  }
}

/** Refuses variables that were not replaced: they would be sent to the provider literally. */
function refusePlaceholders({ at, entry }: Entry, report: ReportError): void {
  for (const [field, value] of Object.entries(entry)) {
    if (typeof value !== 'string' || !value.includes(placeholder)) continue;
    report(
      `${at}/${field}`,
      `contains ${placeholder}…}: variables are only replaced by the command line, and only when they have a valid name`,
    );
  }
}

function* checkUser({ at, entry }: Entry, { report }: Checker): Generator<void, void> {
  checkLocale(entry.locale, `${at}/locale`, report);
  checkTimezone(entry.timezone, `${at}/timezone`, report);
  const seen = new Set<string>();
  for (const address of entries(entry.addresses, `${at}/addresses`)) {
    yield;
    const { name, value } = address.entry;
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    const read = readAddress(name, value);
    if ('mistake' in read) report(`${address.at}/value`, read.mistake);
    const identity = JSON.stringify([name, 'mistake' in read ? value : read.value]);
    if (seen.has(identity)) report(address.at, `${quote(name)} with this value is listed twice`);
    seen.add(identity);
  }
}

function* checkMembers({ at, entry }: Entry, { report }: Checker, { usernames }: Scope): Generator<void, void> {
  if (!Array.isArray(entry.members)) return;
  const seen = new Set<string>();
  for (const [i, member] of entry.members.entries()) {
    if (i % 100 === 0) yield;
    if (typeof member !== 'string') continue;
    const username = fold(member);
    const path = `${at}/members/${i}`;
    if (!isEmail(member)) report(path, 'is not a valid email address');
    else if (seen.has(username)) report(path, `${quote(member)} is listed twice`);
    else if (usernames && !usernames.has(username))
      report(path, `${quote(member)} is not one of the users in this file`);
    seen.add(username);
  }
}

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

function entries(value: unknown, at: string): Entry[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry, i) => ({ at: `${at}/${i}`, entry })).filter(({ entry }) => isObject(entry));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function quote(value: unknown): string {
  return JSON.stringify(value);
}
