/**
 * Everything that can be wrong with a document and be known without the database, all at once: what the schema says,
 * and what it cannot say. Fields of the wrong form are passed over after they have been named, so that one slip does
 * not hide the next. What may still be in the database is returned as a reference, to be looked up there.
 */

import { findSchemaMistakes } from '../context-schema.ts';
import { findDigestMistake } from '../digest.ts';
import { type FieldErrors, invalid } from '../errors.ts';
import { findFilterMistake } from '../expressions.ts';
import { cleanJson, isObject, type JsonObject } from '../json.ts';
import { generalSlug } from '../preferences.ts';
import { findQuietMistakes, isTimezone, notATimezone } from '../quiet-hours.ts';
import type { CheckTemplate } from '../render/compile.ts';
import { findStepMistakes } from '../steps.ts';
import { fold, readAddress } from '../text.ts';
import { isLongThrottle, throttleLimits } from '../throttle.ts';
import { Document, media, type ProviderEntry } from './document.ts';
import { type Complain, checkLayout, checkLocale, checkWords } from './messages.ts';
import { identityOf, type Reference, unknownName } from './references.ts';
import { addError, shapeErrors } from './shape.ts';

/** What is wrong with a provider's entry on a channel of this type; empty when the type is not known. */
export type CheckProvider = (entry: ProviderEntry, medium: string) => { field: string; message: string }[];

const mostErrors = 20;
const placeholder = '${env:';
/** Where free-form data begins in the document: it may be as deep here as it may be in the API's own bodies. */
const ownDepth = 10;

/** Throws `file.invalid` with every mistake; cleans the text of the document in place. */
export function checkDocument(
  value: unknown,
  checkProvider: CheckProvider,
  checkTemplate?: CheckTemplate,
): { document: Document; references: Reference[] } {
  const errors: FieldErrors = {};
  const document = cleanJson(value, errors, '', -ownDepth);
  for (const { field, message } of shapeErrors(Document, document)) addError(errors, field || 'body', message);
  const references: Reference[] = [];
  if (isObject(document)) {
    const complain = (at: string, message: string) => addError(errors, at, message);
    const organizations = entries(document.organizations, 'organizations');
    refuseTwins(organizations, 'slug', complain);
    for (const organization of organizations) {
      checkOrganization(organization, { complain, checkProvider, checkTemplate, references });
    }
  }
  throwIfAny(errors);
  return { document: document as Document, references };
}

export function throwIfAny(errors: FieldErrors): void {
  const found = Object.entries(errors);
  if (found.length > 0) throw invalid(Object.fromEntries(found.slice(0, mostErrors)), 'file.invalid');
}

interface Entry {
  at: string;
  entry: JsonObject;
}

interface Checking {
  complain: Complain;
  checkProvider: CheckProvider;
  checkTemplate: CheckTemplate | undefined;
  references: Reference[];
}

function checkOrganization({ at, entry }: Entry, checking: Checking): void {
  const { complain } = checking;
  checkChannels(entry.channels, `${at}/channels`, checking);
  checkLayouts(entry.layouts, `${at}/layouts`, checking);
  checkCategories(entry.categories, `${at}/categories`, complain);
  checkWebhooks(entry.webhooks, `${at}/webhooks`, complain);
  checkTimezone(entry.timezone, `${at}/timezone`, complain);
  if (isObject(entry.quiet_hours)) {
    for (const [field, message] of Object.entries(findQuietMistakes(entry.quiet_hours))) {
      complain(`${at}/quiet_hours/${field}`, message);
    }
  }
  const users = entries(entry.users, `${at}/users`);
  refuseTwins(users, 'email', complain);
  for (const user of users) {
    checkLocale(user.entry.locale, `${user.at}/locale`, complain);
    checkTimezone(user.entry.timezone, `${user.at}/timezone`, complain);
    checkAddresses(user, complain);
  }
  const usernames = entry.users === undefined ? undefined : new Set(users.map(user => fold(text(user.entry.email))));

  const projects = entries(entry.projects, `${at}/projects`);
  refuseTwins(projects, 'slug', complain);
  for (const project of projects) checkProject(project, entry, usernames, checking);
}

function checkProject(
  { at, entry }: Entry,
  organization: JsonObject,
  usernames: Set<string> | undefined,
  checking: Checking,
): void {
  const { complain, references } = checking;
  checkChannels(entry.channels, `${at}/channels`, checking);
  checkLayouts(entry.layouts, `${at}/layouts`, checking);
  const lists = entries(entry.distribution_lists, `${at}/distribution_lists`);
  refuseTwins(lists, 'name', complain);
  for (const list of lists) checkMembers(list, usernames, complain);

  const both = (section: string) => [...entries(entry[section], ''), ...entries(organization[section], '')];
  const known = {
    category: [generalSlug, ...entries(organization.categories, '').map(one => text(one.entry.slug))],
    list: lists.map(list => text(list.entry.name)),
    channel: both('channels').flatMap(channel => [text(channel.entry.slug), text(channel.entry.type)]),
    layout: both('layouts').map(layout => text(layout.entry.name)),
  };
  const identities: { [kind in Reference['kind']]?: Set<string> } = {};
  // Only a section that the file leaves alone can hold a name that the file does not.
  const open = {
    category: organization.categories === undefined,
    list: entry.distribution_lists === undefined,
    channel: entry.channels === undefined || organization.channels === undefined,
    layout: entry.layouts === undefined || organization.layouts === undefined,
  };
  const refer = (kind: Reference['kind'], name: unknown, place: string) => {
    if (typeof name !== 'string') return;
    identities[kind] ??= new Set(known[kind].map(candidate => identityOf(kind, candidate)));
    if (identities[kind].has(identityOf(kind, name))) return;
    if (!open[kind]) complain(place, unknownName(kind, name, known[kind]));
    else {
      const [org, project] = [text(organization.slug), text(entry.slug)];
      references.push({ at: place, kind, name, organization: org, project });
    }
  };

  const applications = entries(entry.applications, `${at}/applications`);
  refuseTwins(applications, 'slug', complain);
  for (const application of applications) {
    const events = entries(application.entry.events, `${application.at}/events`);
    refuseTwins(events, 'slug', complain);
    for (const event of events) {
      refer('category', event.entry.category, `${event.at}/category`);
      checkContextSchema(event.entry.context_schema, `${event.at}/context_schema`, complain);
      const notifications = entries(event.entry.notifications, `${event.at}/notifications`);
      refuseTwins(notifications, 'name', complain, name => name);
      for (const notification of notifications) checkNotification(notification, refer, checking);
    }
  }
}

function checkContextSchema(value: unknown, at: string, complain: Complain): void {
  if (!isObject(value)) return;
  for (const mistake of findSchemaMistakes(value)) complain(mistake.at ? `${at}/${mistake.at}` : at, mistake.message);
}

function checkNotification(
  { at, entry }: Entry,
  refer: (kind: Reference['kind'], name: unknown, place: string) => void,
  { complain, checkTemplate }: Checking,
): void {
  checkFilter(entry.filter, `${at}/filter`, complain);
  if (isObject(entry.throttle)) {
    checkFilter(entry.throttle.key, `${at}/throttle/key`, complain);
    const { per } = entry.throttle;
    if (typeof per === 'string' && isLongThrottle(per))
      complain(`${at}/throttle/per`, `must be ${throttleLimits.days}d at most`);
    if (entry.throttle.overflow === 'digest' && isObject(entry.digest))
      complain(`${at}/throttle/overflow`, 'must be drop where the notification has a digest: everything gathers there');
  }
  checkDigest(entry, at, complain);
  if (isObject(entry.recipients)) {
    checkFilter(entry.recipients.users, `${at}/recipients/users`, complain);
    refer('list', entry.recipients.list, `${at}/recipients/list`);
  }
  const referToChannel = (name: unknown, place: string) => refer('channel', name, place);
  checkNames(entry.channels, `${at}/channels`, complain, referToChannel);
  for (const mistake of findStepMistakes(entry)) complain(`${at}/${mistake.at}`, mistake.message);
  for (const step of entries(entry.steps, `${at}/steps`)) {
    checkNames(step.entry.channels, `${step.at}/channels`, complain, referToChannel);
    if (isObject(step.entry.recipients)) refer('list', step.entry.recipients.list, `${step.at}/recipients/list`);
  }
  checkNames(entry.environs, `${at}/environs`, complain);
  if (isObject(entry.message)) refer('layout', entry.message.layout, `${at}/message/layout`);
  if (isObject(entry.overrides)) {
    for (const name of Object.keys(entry.overrides)) refer('channel', name, `${at}/overrides/${name}`);
  }
  checkWords(entry, at, complain, checkTemplate);
}

function checkDigest({ digest, priority, steps, throttle }: JsonObject, at: string, complain: Complain): void {
  if (steps !== undefined && isObject(throttle) && throttle.overflow === 'digest')
    complain(`${at}/throttle/overflow`, 'must be drop where the notification has steps: steps do not gather');
  if (!isObject(digest)) return;
  if (steps !== undefined)
    complain(`${at}/digest`, 'must be absent where the notification has steps: steps do not gather');
  checkFilter(digest.key, `${at}/digest/key`, complain);
  const mistake = typeof digest.every === 'string' ? findDigestMistake(digest.every) : undefined;
  if (mistake) complain(`${at}/digest/every`, mistake);
  if (priority === 'urgent')
    complain(`${at}/digest`, 'must be absent where the priority is urgent: urgent messages do not wait');
}

function checkNames(
  value: unknown,
  at: string,
  complain: Complain,
  visit: (name: unknown, place: string) => void = () => {},
): void {
  if (!Array.isArray(value)) return;
  const seen = new Set<unknown>();
  for (const [i, name] of value.entries()) {
    if (seen.has(name)) complain(`${at}/${i}`, `${shown(name)} stands here twice`);
    else visit(name, `${at}/${i}`);
    seen.add(name);
  }
}

function checkFilter(value: unknown, at: string, complain: Complain): void {
  if (typeof value !== 'string' || value === '') return;
  const mistake = findFilterMistake(value);
  if (mistake) complain(at, mistake);
}

function checkChannels(value: unknown, at: string, { complain, checkProvider }: Checking): void {
  const channels = entries(value, at);
  refuseTwins(channels, 'slug', complain);
  for (const channel of channels) {
    // An unknown type has been named as such; that no provider serves it is no news.
    const medium = media.find(known => known === channel.entry.type) ?? '';
    for (const provider of entries(channel.entry.providers, `${channel.at}/providers`)) {
      refusePlaceholders(provider, complain);
      if (typeof provider.entry.use !== 'string') continue;
      for (const { field, message } of checkProvider(provider.entry as ProviderEntry, medium)) {
        complain(field ? `${provider.at}/${field}` : provider.at, message);
      }
    }
  }
}

function checkLayouts(value: unknown, at: string, { complain, checkTemplate }: Checking): void {
  const layouts = entries(value, at);
  refuseTwins(layouts, 'name', complain);
  for (const layout of layouts) checkLayout(layout.entry.body, `${layout.at}/body`, complain, checkTemplate);
}

function checkTimezone(value: unknown, at: string, complain: Complain): void {
  if (typeof value === 'string' && value !== '' && !isTimezone(value)) complain(at, notATimezone);
}

function checkCategories(value: unknown, at: string, complain: Complain): void {
  const categories = entries(value, at);
  refuseTwins(categories, 'slug', complain);
  for (const { at: place, entry } of categories) {
    const isRequired = entry.kind === 'required';
    if (isRequired && entry.default === false)
      complain(`${place}/default`, 'must be true: what is required is never off');
    if (!isRequired && entry.quiet_hours === 'ignore') {
      complain(`${place}/quiet_hours`, 'must be respect: only a required category may ignore quiet hours');
    }
    for (const type of isObject(entry.channel_defaults) ? Object.keys(entry.channel_defaults) : []) {
      if (isRequired) complain(`${place}/channel_defaults/${type}`, 'must be absent: what is required is never off');
      else if (!(media as readonly string[]).includes(type)) {
        complain(`${place}/channel_defaults/${type}`, `is not a channel type (there are ${media.join(', ')})`);
      }
    }
    checkNames(entry.channels, `${place}/channels`, complain);
    for (const locale of isObject(entry.locales) ? Object.keys(entry.locales) : []) {
      checkLocale(locale, `${place}/locales/${locale}`, complain);
    }
  }
}

function checkWebhooks(value: unknown, at: string, complain: Complain): void {
  const webhooks = entries(value, at);
  refuseTwins(webhooks, 'slug', complain);
  for (const webhook of webhooks) {
    refusePlaceholders(webhook, complain);
    checkNames(webhook.entry.types, `${webhook.at}/types`, complain);
  }
}

/** Whatever still looks like a variable would be sent to a provider as it stands. */
function refusePlaceholders({ at, entry }: Entry, complain: Complain): void {
  for (const [field, value] of Object.entries(entry)) {
    if (typeof value !== 'string' || !value.includes(placeholder)) continue;
    complain(`${at}/${field}`, `holds ${placeholder}…}, which only the command line replaces, and only by a name`);
  }
}

function checkAddresses({ at, entry }: Entry, complain: Complain): void {
  const seen = new Set<string>();
  for (const address of entries(entry.addresses, `${at}/addresses`)) {
    const { name, value } = address.entry;
    if (typeof name !== 'string' || typeof value !== 'string') continue;
    const read = readAddress(name, value);
    if ('mistake' in read) complain(`${address.at}/value`, read.mistake);
    const identity = JSON.stringify([name, 'mistake' in read ? value : read.value]);
    if (seen.has(identity)) complain(address.at, `${shown(name)} with this value stands here twice`);
    seen.add(identity);
  }
}

function checkMembers({ at, entry }: Entry, usernames: Set<string> | undefined, complain: Complain): void {
  if (!Array.isArray(entry.members)) return;
  const seen = new Set<string>();
  for (const [i, member] of entry.members.entries()) {
    if (typeof member !== 'string') continue;
    const username = fold(member);
    const place = `${at}/members/${i}`;
    if (seen.has(username)) complain(place, `${shown(member)} stands here twice`);
    else if (usernames && !usernames.has(username))
      complain(place, `${shown(member)} is not among the users of the file`);
    seen.add(username);
  }
}

function refuseTwins(
  siblings: Entry[],
  field: string,
  complain: Complain,
  identityOf: (name: string) => string = fold,
): void {
  const seen = new Map<string, string>();
  for (const { at, entry } of siblings) {
    const name = entry[field];
    if (typeof name !== 'string') continue;
    const first = seen.get(identityOf(name));
    if (first !== undefined) complain(`${at}/${field}`, `${shown(name)} stands here twice, first as ${first}`);
    else seen.set(identityOf(name), at);
  }
}

function entries(value: unknown, at: string): Entry[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry, i) => ({ at: `${at}/${i}`, entry })).filter(({ entry }) => isObject(entry));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shown(value: unknown): string {
  return JSON.stringify(value);
}
