/** Users with their addresses and rules. */
import type { UserEntry } from '../../configuration/document.ts';
import { lookUp } from '../../lookup.ts';
import { findReachMistakes, type Reach, type ReachRule, reachLimits } from '../../oncall/reach.ts';
import { fold, isEmail, readAddress } from '../../text/text.ts';
import type { AddNote } from '../imported.ts';
import { nameOf } from '../names.ts';
import type { PagerDutyExport, PagerDutyUser } from './resources.ts';
import { readTimezone } from './time-zones.ts';

type Medium = ReachRule['by'];
type ContactMethod = NonNullable<PagerDutyUser['contact_methods']>[number];

/** Channel types by the type of a contact method. */
const media: Record<string, Medium> = {
  email_contact_method: 'email',
  phone_contact_method: 'voice',
  sms_contact_method: 'sms',
  whatsapp_contact_method: 'whatsapp',
  push_notification_contact_method: 'push',
};

export function toUsers(data: PagerDutyExport, note: AddNote) {
  const users = new Map<string, UserEntry>();
  const emails = new Map<string, string>();
  let devices = 0;
  for (const user of data.users) {
    const email = user.email?.trim() ?? '';
    if (!isEmail(email)) {
      note(`user ${user.name}`, 'has no email that can be used');
      continue;
    }
    const own = fold(email);
    emails.set(user.id, own);
    if (users.has(own)) {
      note(`user ${user.name}`, `has the same email as another user, ${own}: they become one`);
      continue;
    }
    const timezone = readTimezone(user.time_zone);
    if (user.time_zone && !timezone) note(`user ${user.name}`, `the time zone ${user.time_zone} is not known`);
    const { addresses, isMain } = toAddresses(user, own, note);
    devices += (user.contact_methods ?? []).filter(({ type }) => mediumOf(type) === 'push').length;
    const reach = toReach(user, isMain, note);
    const [first, ...rest] = nameOf(user.name, own).split(' ');
    users.set(own, {
      email: own,
      first_name: first!,
      ...(rest.length > 0 && { last_name: rest.join(' ') }),
      ...(timezone && { timezone }),
      ...(Object.keys(reach).length > 0 && { reach }),
      ...(addresses.length > 0 && { addresses }),
    });
  }
  if (devices > 0)
    note('push devices', `${devices} of them are registered with PagerDuty's application: users register others here`);
  return { users: [...users.values()], emails };
}

const mediumOf = (type: string) => lookUp(media, type.replace(/_reference$/, ''));

/** The first address of each type is the one that is used: that of the first rule. */
function toAddresses(user: PagerDutyUser, email: string, note: AddNote) {
  const subject = `user ${user.name}`;
  const ranks = new Map<string, number>();
  for (const [i, id] of orderOfUse(user).entries()) if (!ranks.has(id)) ranks.set(id, i);
  const rankOf = ({ id }: ContactMethod) => ranks.get(id) ?? Number.POSITIVE_INFINITY;
  const methods = (user.contact_methods ?? []).toSorted((a, b) =>
    rankOf(a) < rankOf(b) ? -1 : rankOf(a) > rankOf(b) ? 1 : 0,
  );
  const addresses: NonNullable<UserEntry['addresses']> = [];
  const main = new Set<string>();
  const counts = new Map<Medium, number>([['email', 1]]);
  for (const method of methods) {
    const by = mediumOf(method.type);
    const named = `${subject}, ${method.label?.trim() || method.type}`;
    if (!by) note(named, `it is of the type ${method.type}, which is not known`);
    else if (by === 'push' || (by === 'email' && fold(method.address ?? '') === email)) main.add(method.id);
    else if (method.blacklisted) note(named, 'PagerDuty has blocked it');
    else {
      const n = (counts.get(by) ?? 0) + 1;
      const name = n === 1 ? by : `${by}-${n}`;
      const value = addressOf(method, by);
      const read = readAddress(by === 'voice' || by === 'whatsapp' ? 'phone' : name, value);
      if ('mistake' in read) note(named, `it ${read.mistake}`);
      else if (n > 1 && (by === 'voice' || by === 'whatsapp'))
        note(named, `a user has one address for ${by}: ${value} is left out`);
      else {
        counts.set(by, n);
        if (n === 1) main.add(method.id);
        if (!addresses.some(one => one.name === name)) addresses.push({ name, value: read.value });
      }
    }
  }
  return { addresses, isMain: (id: string) => main.has(id) };
}

function addressOf({ address, country_code }: ContactMethod, by: Medium): string {
  const text = address?.trim() ?? '';
  return by === 'email' || text.startsWith('+') || !country_code
    ? text
    : `+${country_code}${text.replaceAll(/\D/g, '')}`;
}

function rulesOf(user: PagerDutyUser, urgency: string) {
  const rules = (user.notification_rules ?? []).filter(rule => rule.urgency === urgency);
  return rules.toSorted((a, b) => a.start_delay_in_minutes - b.start_delay_in_minutes);
}

/** Returns the ids of contact methods, urgent rules first. */
function orderOfUse(user: PagerDutyUser): string[] {
  return [...rulesOf(user, 'high'), ...rulesOf(user, 'low')].flatMap(({ contact_method }) => contact_method?.id ?? []);
}

function toReach(user: PagerDutyUser, isMain: (id: string) => boolean, note: AddNote): Reach {
  const types = new Map((user.contact_methods ?? []).map(({ id, type }) => [id, type]));
  const reach: Reach = {};
  for (const [urgency, set] of [
    ['low', 'normal'],
    ['high', 'important'],
  ] as const) {
    const rules: ReachRule[] = [];
    for (const { contact_method, start_delay_in_minutes: minutes } of rulesOf(user, urgency)) {
      const subject = `user ${user.name}, rule for ${urgency} urgency after ${minutes} minutes`;
      const by = mediumOf(types.get(contact_method?.id ?? '') ?? contact_method?.type ?? '');
      if (!contact_method || !by || !isMain(contact_method.id)) {
        note(subject, `its contact method is not carried over, or is not the first ${by ?? 'of its type'}`);
        continue;
      }
      const rule: ReachRule = { by, ...(minutes > 0 && { after: `${Math.round(minutes)}m` }) };
      const [mistake] = Object.values(findReachMistakes({ [set]: [...rules, rule] }));
      if (!Number.isInteger(minutes) || minutes < 0) note(subject, 'its delay is no number of minutes');
      else if (rules.some(one => one.by === by && one.after === rule.after)) note(subject, 'it is a duplicate');
      else if (mistake) note(subject, `it ${mistake}`);
      else if (rules.length === reachLimits.rules) note(subject, `there are ${reachLimits.rules} rules at most`);
      else rules.push(rule);
    }
    if (rules.length > 0) reach[set] = rules;
  }
  for (const { urgency } of user.notification_rules ?? []) {
    if (urgency !== 'high' && urgency !== 'low')
      note(`user ${user.name}`, `a rule is for the urgency ${urgency}, which is not known`);
  }
  return reach;
}
