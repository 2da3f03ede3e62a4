/** Rules of channels, categories, users, lists and schedules that schemas cannot express. */
import { personal } from '../../decision/decide.ts';
import { findRetryMistake } from '../../history/retries.ts';
import { isObject } from '../../json.ts';
import { findReachMistakes } from '../../oncall/reach.ts';
import { checkSchedule } from '../../oncall/schedule-rules.ts';
import { fold, isEmail, readAddress } from '../../text/text.ts';
import { checkLocale } from '../messages.ts';
import type { ProviderEntry } from '../nouns/channel.ts';
import { media } from '../nouns/schemas.ts';
import { listChoices } from '../references.ts';
import {
  type Checker,
  checkNames,
  checkTimezone,
  type Entry,
  entries,
  quote,
  referToEvent,
  refusePlaceholders,
  type Scope,
  text,
} from './shared.ts';

export function checkChannel(channel: Entry, { report, checkProvider }: Checker): void {
  if (channel.entry.slug === personal) {
    report(`${channel.at}/slug`, 'must not be personal, which stands for the channels that each recipient prefers');
  }
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

export function checkCategory({ at, entry }: Entry, { report }: Checker): void {
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

export function* checkUser({ at, entry }: Entry, { report }: Checker): Generator<void, void> {
  checkLocale(entry.locale, `${at}/locale`, report);
  checkTimezone(entry.timezone, `${at}/timezone`, report);
  const rules = isObject(entry.reach) ? findReachMistakes(entry.reach) : {};
  for (const [path, message] of Object.entries(rules)) report(`${at}/reach/${path}`, message);
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

export function* checkMembers({ at, entry }: Entry, { report }: Checker, { usernames }: Scope): Generator<void, void> {
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

/** Users that the file does not have can only exist if it does not manage users, or if it names them as members of lists. */
export function checkScheduleEntry({ at, entry }: Entry, checker: Checker, scope: Scope): void {
  const { report, userReferences } = checker;
  const { organization, usernames, refer } = scope;
  refer!('list', entry.fallback, `${at}/fallback`);
  const events = {
    on_change: entry.on_change,
    page: entry.page,
    'test/event': isObject(entry.test) && entry.test.event,
  };
  for (const [field, event] of Object.entries(events)) checkEventOfProject(event, `${at}/${field}`, checker, scope);
  checkSchedule(
    entry,
    (field, message) => report(`${at}/${field}`, message),
    (username, path) => {
      if (!usernames) userReferences.push({ at: `${at}/${path}`, organization: text(organization!.slug), username });
      else if (!usernames.has(fold(username)))
        report(`${at}/${path}`, `${quote(username)} is not one of the users in this file`);
    },
  );
}

/** Takes application/event. An application that the file does not have can only exist if it does not manage those of the project. */
function checkEventOfProject(value: unknown, at: string, { report, eventReferences }: Checker, scope: Scope): void {
  const [app, evt, ...others] = text(value).split('/');
  if (!app || !evt || others.length > 0) return;
  const { applications } = scope.project!;
  const known = entries(applications, '').map(({ entry }) => entry);
  const application = known.find(({ slug }) => slug === app);
  if (application || applications === undefined) {
    referToEvent(evt, at, { ...scope, application: application ?? { slug: app } }, report, eventReferences);
  } else {
    const choice = listChoices(known.map(({ slug }) => text(slug)));
    report(at, `there is no application ${quote(app)} in this project (${choice})`);
  }
}
