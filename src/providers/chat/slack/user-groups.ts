/** https://docs.slack.dev/reference/methods/usergroups.users.update */
import { type Failure, type HttpSend, pick } from '../../http-outcome.ts';
import type { Outcome } from '../../sending.ts';
import type { FoundPerson, GroupChat } from '../../user-groups.ts';

type Request = (method: string, more: Partial<HttpSend>) => Promise<Outcome>;

export const slackGroupId = {
  pattern: /^S[A-Z0-9]{5,30}$/,
  hint: 'must be the ID of a Slack user group, such as S0123ABCD',
};

const memberId = /^[UW][A-Z0-9]{5,30}$/;
const maxEmails = 3;

/** Slack adds neither guests nor bots to a user group: one of them would fail the whole request. */
const refused: [flag: string, reason: string][] = [
  ['deleted', 'the Slack account is deactivated'],
  ['is_bot', 'the Slack account is a bot'],
  ['is_restricted', 'is a guest in Slack, which user groups refuse'],
  ['is_ultra_restricted', 'is a guest in Slack, which user groups refuse'],
];

/** What to do about errors that a person has to correct. */
const advice: Record<string, string> = {
  no_such_subteam: 'there is no such user group: check its ID',
  permission_denied: 'allow everyone to change user groups in the permissions of the workspace',
};

export function slackGroup(group: string, request: Request): GroupChat {
  /** Undefined: Slack does not know the person. */
  const ask = async (method: string, name: string, value: string): Promise<FoundPerson | undefined> => {
    let user: Record<string, unknown> = {};
    const asked = await request(`${method}?${name}=${encodeURIComponent(value)}`, {
      method: 'GET',
      id: ({ json }) => {
        user = (json as { user?: typeof user }).user ?? {};
        return pick(json, 'user', 'id');
      },
    });
    if (!asked.ok) return /\busers?_not_(found|visible)\b/.test(asked.reason) ? undefined : asked;
    if (!asked.id) return { ok: false, retry: true, reason: 'Slack returned no user' };
    const [, reason] = refused.find(([flag]) => user[flag] === true) ?? [];
    return reason === undefined ? { ok: true, id: asked.id } : { ok: true, reason };
  };
  return {
    /** An address in Slack is a member ID, an email, or the ID of a room, which says nothing about the person. */
    async find({ addresses, emails }) {
      const known = addresses.find(one => memberId.test(one));
      const member = known && (await ask('users.info', 'user', known));
      if (member) return member;
      const all = [...addresses.filter(one => one.includes('@')), ...emails];
      for (const email of [...new Set(all)].slice(0, maxEmails)) {
        const found = await ask('users.lookupByEmail', 'email', email);
        if (found) return found;
      }
      return { ok: true, reason: 'has no account in this Slack workspace' };
    },
    async write(ids) {
      const json = { usergroup: group, users: ids.join() };
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      const outcome = await request('usergroups.users.update', { json, headers });
      return outcome.ok ? outcome : explain(outcome);
    },
  };
}

function explain(failure: Failure): Failure {
  const [, hint] = Object.entries(advice).find(([error]) => failure.reason.includes(error)) ?? [];
  return hint === undefined ? failure : { ...failure, reason: `${failure.reason} (${hint})` };
}
