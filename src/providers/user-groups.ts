/**
 * Groups of a chat that people mention, such as @oncall, and whose members Belfry sets. A provider says how a person is found
 * and how members are written; what is the same for all is here.
 */
import type { Failure } from './http-outcome.ts';
import type { Outcome, Tools } from './sending.ts';

/** A user who should be in a group. */
export interface GroupPerson {
  username: string;
  /** Emails by which the chat may know the person, the likeliest first. */
  emails: readonly string[];
  /** Addresses of the channel's type, verified ones first. */
  addresses: readonly string[];
}

/** The id of a person in the chat, or why the person cannot be in the group. */
export type FoundPerson = { ok: true; id: string } | { ok: true; reason: string } | Failure;

/** A group in one account at a chat service. */
export interface GroupChat {
  find(person: GroupPerson): Promise<FoundPerson>;
  /** Makes these ids the only members; repeating it is harmless. */
  write(ids: readonly string[]): Promise<Outcome>;
}

export interface UserGroups<Settings> {
  /** What the id of a group looks like. */
  id: { pattern: RegExp; hint: string };
  /** The service refuses a group without members: it keeps the last ones. */
  refusesEmpty?: true;
  open(group: string, settings: Settings, tools: GroupTools): GroupChat;
}

export interface GroupTools extends Pick<Tools, 'outbound'> {
  /** Limit of each request, in milliseconds. */
  timeoutMs: number;
}

export interface LeftOut {
  /** Username. */
  user: string;
  reason: string;
}

export type GroupOutcome =
  | {
      ok: true;
      /** Usernames and ids, in the same order. */
      members: string[];
      ids: string[];
      leftOut: LeftOut[];
      /** No one can be in the group, so that it keeps its last members. */
      isKept: boolean;
    }
  | Failure;

export interface GroupRequest {
  people: readonly GroupPerson[];
  /** Ids by username that earlier attempts have found. What is found is added. */
  accounts: Map<string, string>;
  /** The ids that the group has. Null: not known. */
  current: readonly string[] | null;
  /** Whether there is time for another request. */
  mayContinue(): boolean;
}

const outOfTime: Failure = { ok: false, retry: true, reason: 'the service takes too long' };

/** Makes these people the only members of a group. */
export async function setGroup(
  chat: GroupChat,
  { people, accounts, current, mayContinue }: GroupRequest,
  { refusesEmpty }: Pick<UserGroups<never>, 'refusesEmpty'>,
): Promise<GroupOutcome> {
  const found = new Map<string, string>();
  const leftOut: LeftOut[] = [];
  for (const person of people) {
    const { username } = person;
    if (!accounts.has(username)) {
      if (!mayContinue()) return outOfTime;
      const one = await chat.find(person);
      if (!one.ok) return { ...one, reason: `looking up ${username}: ${one.reason}` };
      if ('reason' in one) {
        leftOut.push({ user: username, reason: one.reason });
        continue;
      }
      accounts.set(username, one.id);
    }
    const id = accounts.get(username)!;
    // Two users may have the same account.
    if (![...found.values()].includes(id)) found.set(username, id);
  }
  const [members, ids] = [[...found.keys()], [...found.values()]];
  const isKept = ids.length === 0 && refusesEmpty === true;
  const isSame = current !== null && [...current].sort().join() === [...ids].sort().join();
  if (!isKept && !isSame) {
    if (!mayContinue()) return outOfTime;
    const written = await chat.write(ids);
    if (!written.ok) return written;
  }
  return { ok: true, members, ids, leftOut, isKept };
}
