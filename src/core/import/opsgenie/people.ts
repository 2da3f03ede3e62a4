/** Users of Opsgenie, and the lists of them: teams, and the users of each step. */
import type { ListEntry, UserEntry } from '../../configuration/document.ts';
import { fold, isEmail, limits, normalizeLocale, normalizePhone } from '../../text/text.ts';
import type { AddNote } from '../imported.ts';
import { makeLists } from '../lists.ts';
import { nameOf, readTimezone } from '../names.ts';
import { toReach } from './reach.ts';
import type { OpsgenieExport, OpsgenieReference, OpsgenieTeam, OpsgenieUser } from './resources.ts';

export interface People {
  users: UserEntry[];
  /** Whether rules of a user differ between P1 and P2 on the one hand and P3 to P5 on the other. */
  dependOnPriority: boolean;
  emailOf(reference: OpsgenieReference | undefined): string | undefined;
  teamOf(reference: OpsgenieReference | undefined): OpsgenieTeam | undefined;
  /** Emails of the members, of one role or of all. */
  membersOf(team: OpsgenieTeam, role?: string): string[];
  /** Returns the name of a list with these users. */
  listOf(emails: readonly string[]): string | undefined;
  lists(): ListEntry[];
}

export function toPeople(data: OpsgenieExport, note: AddNote): People {
  const users = new Map<string, UserEntry>();
  const emails = new Map<string, string>();
  let dependOnPriority = false;
  for (const user of data.users) {
    const { id, username, blocked } = user;
    const subject = `user ${username}`;
    if (!isEmail(username)) {
      note(subject, 'its username is no email that can be used');
      continue;
    }
    const email = fold(username);
    emails.set(id, email).set(email, email);
    if (users.has(email)) continue;
    if (blocked) note(subject, 'is blocked there, and locked here: a locked user gets nothing');
    const { reach, dependsOnPriority } = toReach(user, subject, note);
    if (dependsOnPriority) dependOnPriority = true;
    const addresses = toAddresses(user, email, subject, note);
    const timezone = readTimezone(user.timeZone);
    users.set(email, {
      email,
      ...namesOf(user.fullName ?? ''),
      ...(blocked && { locked: true }),
      ...localeOf(user.locale),
      ...(timezone && { timezone }),
      ...(reach && { reach }),
      ...(addresses.length > 0 && { addresses }),
    });
  }

  const teams = new Map<string, OpsgenieTeam>();
  for (const team of data.teams) teams.set(team.id, team).set(`name ${fold(team.name)}`, team);
  const emailOf: People['emailOf'] = reference =>
    emails.get(reference?.id ?? '') ?? emails.get(fold(reference?.username ?? ''));
  const membersOf = ({ members = [] }: OpsgenieTeam, role?: string) => {
    const some = members.filter(member => role === undefined || member.role === role);
    return [...new Set(some.flatMap(({ user }) => emailOf(user) ?? []))];
  };
  const lists = makeLists(data.teams.map(team => ({ ...team, members: membersOf(team) })));
  for (const { id, name } of data.teams) {
    if (!lists.teamList(id)) note(`team ${name}`, 'it has no members who can be carried over: its list is empty');
  }
  return {
    users: [...users.values()],
    dependOnPriority,
    emailOf,
    teamOf: reference => teams.get(reference?.id ?? '') ?? teams.get(`name ${fold(reference?.name ?? '')}`),
    membersOf,
    listOf: lists.listOf,
    lists: lists.all,
  };
}

function namesOf(fullName: string): Pick<UserEntry, 'first_name' | 'last_name'> {
  const [, first, last] = /^(\S+)(?:\s+(.+))?$/.exec(nameOf(fullName, '')) ?? [];
  return {
    ...(first && { first_name: first.slice(0, limits.name) }),
    ...(last && { last_name: last.slice(0, limits.name) }),
  };
}

/** Written with an underscore there. */
function localeOf(text = ''): Pick<UserEntry, 'locale'> {
  const locale = /^[a-z]{2,3}(_[a-z0-9]+)*$/i.test(text) ? normalizeLocale(text.replaceAll('_', '-')) : undefined;
  return locale ? { locale } : {};
}

type Address = NonNullable<UserEntry['addresses']>[number];

function toAddresses({ contacts = [] }: OpsgenieUser, email: string, subject: string, note: AddNote): Address[] {
  const addresses: Address[] = [];
  const add = (name: string, value: string | undefined, text: string) => {
    if (value === undefined) note(`${subject}, ${name} ${text}`, 'it cannot be used as an address');
    else if (!addresses.some(one => one.name === name && one.value === value)) addresses.push({ name, value });
  };
  let apps = 0;
  for (const { method, to = '', status } of contacts) {
    if (status?.enabled === false) note(`${subject}, ${method} ${to}`, 'it is disabled there: enter it if it is right');
    else if (method === 'mobile') apps++;
    else if (method === 'sms' || method === 'voice') add(method, phoneOf(to), to);
    else if (method !== 'email') note(`${subject}, ${method} ${to}`, 'contacts of this kind have no counterpart');
    else if (fold(to) !== email) add('email', isEmail(to) ? to : undefined, to);
  }
  if (apps > 0)
    note(subject, 'has the Opsgenie app: an address `push` is added when the person subscribes to push messages here');
  return addresses;
}

/** `1-5555550100` there is +15555550100. */
function phoneOf(text: string): string | undefined {
  return /^\+?\d+[-\d ]*$/.test(text) ? normalizePhone(`+${text.replaceAll(/\D/g, '')}`) : undefined;
}
