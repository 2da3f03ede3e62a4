/** https://docs.mattermost.com/api/reference/add-group-members, for custom groups. */
import { type HttpSend, pick } from '../http-outcome.ts';
import type { Outcome } from '../sending.ts';
import type { FoundPerson, GroupChat } from '../user-groups.ts';

type Request = (path: string, more: Partial<HttpSend>) => Promise<Outcome>;

export const mattermostGroupId = {
  pattern: /^[a-z0-9]{26}$/,
  hint: 'must be the ID of a custom group of Mattermost, 26 letters and digits',
};

const maxEmails = 3;
/** A larger group is not one of people on call, and would be emptied by mistake. */
const maxPages = 10;
/** A page of users, who have about 1 KB of settings each, stays far below the limit of a response. */
const perPage = 20;

export function mattermostGroup(group: string, request: Request): GroupChat {
  const path = `/groups/${group}/members`;
  const findByEmail = async (email: string): Promise<FoundPerson | undefined> => {
    let user: { delete_at?: number } = {};
    let status = 0;
    const asked = await request(`/users/email/${encodeURIComponent(email)}`, {
      method: 'GET',
      id: ({ json }) => {
        user = (json ?? {}) as typeof user;
        return pick(json, 'id');
      },
      classify: answer => {
        status = answer.status;
        return undefined;
      },
    });
    if (!asked.ok) return status === 404 ? undefined : asked;
    if (!asked.id) return { ok: false, retry: true, reason: 'Mattermost returned no user' };
    return user.delete_at ? { ok: true, reason: 'the Mattermost account is deactivated' } : { ok: true, id: asked.id };
  };
  /** Returns the ids of the members, or why they cannot be read. */
  const list = async (): Promise<string[] | Extract<Outcome, { ok: false }>> => {
    const ids: string[] = [];
    for (let page = 0; page < maxPages; page++) {
      let members: unknown[] | null | undefined;
      const read = await request(`${path}?page=${page}&per_page=${perPage}`, {
        method: 'GET',
        id: ({ json }) => {
          members = (json as { members?: typeof members } | undefined)?.members;
          return undefined;
        },
      });
      if (!read.ok) return read;
      // Mattermost writes an empty list as null.
      if (members !== null && !Array.isArray(members))
        return { ok: false, retry: true, reason: 'the members could not be read' };
      ids.push(...(members ?? []).flatMap(member => pick(member, 'id') ?? []));
      if ((members ?? []).length < perPage) return ids;
    }
    const reason = `the group has more than ${maxPages * perPage} members: name one that is only for this schedule`;
    return { ok: false, retry: false, reason };
  };
  return {
    async find({ emails }) {
      for (const email of emails.slice(0, maxEmails)) {
        const found = await findByEmail(email);
        if (found) return found;
      }
      return { ok: true, reason: 'has no account on this Mattermost server' };
    },
    /** Adds before it removes, so that a mention reaches someone at any time. */
    async write(ids) {
      const before = await list();
      if (!Array.isArray(before)) return before;
      const changes = [
        { method: 'POST' as const, user_ids: ids.filter(id => !before.includes(id)) },
        { method: 'DELETE' as const, user_ids: before.filter(id => !ids.includes(id)) },
      ];
      for (const { method, user_ids } of changes) {
        if (user_ids.length === 0) continue;
        const outcome = await request(path, { method, json: { user_ids } });
        if (!outcome.ok) return outcome;
      }
      return { ok: true };
    },
  };
}
