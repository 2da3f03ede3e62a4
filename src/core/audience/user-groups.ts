/** Groups in chats that follow a schedule: their members are the users on call. */
import { type Static, Type } from 'typebox';
import { closed, Slug } from '../configuration/nouns/schemas.ts';

export const userGroupLimits = {
  /** Groups of a schedule. */
  groups: 10,
  /** Members of a group. Further users on call are left out. */
  members: 100,
  /** A person who was left out may have an account now. */
  leftOutSeconds: 3_600,
  /** `doctor` warns of a group that has failed for longer. */
  failingMinutes: 15,
} as const;

/** Wide enough for every service: the channel's provider says what its ids look like. */
const maxIdLength = 64;

export const UserGroup = Type.Object(
  {
    channel: Type.String({
      ...Slug,
      description: 'Slug of a channel of the project or the organization, with the provider slack or mattermost.',
    }),
    group: Type.String({
      maxLength: maxIdLength,
      pattern: `^[A-Za-z0-9]{1,${maxIdLength}}$`,
      patternHint: 'must be the ID of a group, such as S0123ABCD',
      description: 'The ID of the group there, such as S0123ABCD.',
    }),
  },
  closed,
);
export type UserGroup = Static<typeof UserGroup>;

export const UserGroups = Type.Array(UserGroup, { maxItems: userGroupLimits.groups });

/** Seconds until the next attempt, after so many failures in a row. Someone has to correct a permanent one. */
export function groupRetrySeconds(
  failures: number,
  { retry, retryAfterSeconds = 0 }: { retry: boolean; retryAfterSeconds?: number },
  random: number,
): number {
  const backoff = Math.min(900, 5 * 2 ** Math.min(failures, 10));
  const seconds = retry ? backoff : Math.max(300, backoff);
  return Math.max(retryAfterSeconds, Math.round(seconds * (0.8 + 0.4 * random)));
}
