/**
 * Slack and Mattermost on loopback, with users and groups. They refuse what the real ones refuse: another token, method, content
 * type or form of a body, unknown users and groups, and in Slack an empty group, guests and bots.
 */
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from './http-peer.ts';

export const tokens = { slack: 'xoxb-12345678-token', mattermost: 'mattermost-token' };

interface SlackUser {
  id: string;
  email?: string;
  is_bot?: true;
  is_restricted?: true;
  deleted?: true;
}

interface MattermostUser {
  id: string;
  email: string;
  delete_at?: number;
}

export interface GroupChats {
  peer: HttpPeer;
  slack: { users: SlackUser[]; groups: Map<string, string[]> };
  mattermost: { users: MattermostUser[]; groups: Map<string, string[]> };
  /** Requests so far, such as `usergroups.users.update U1,U2`. */
  calls: string[];
  /** Replaces the answers to requests that it returns a reply for. */
  intercept: (call: string) => Reply | undefined;
  channels(): Record<string, unknown>[];
  close(): Promise<void>;
}

/** An id of Mattermost. */
export const id26 = (name: string) => name.padEnd(26, '0');

export async function openGroupChats(): Promise<GroupChats> {
  const json = (value: unknown, status = 200): Reply => ({ status, body: JSON.stringify(value) });
  const isJson = ({ headers }: RecordedRequest) => /^application\/json\b/.test(headers['content-type'] ?? '');

  function answerSlack(seen: RecordedRequest, method: string, query: URLSearchParams): [call: string, () => Reply] {
    const refuse = (error: string, more: object = {}) => json({ ok: false, error, ...more });
    const show = (user: SlackUser | undefined, error: string) => {
      if (!user) return refuse(error);
      const { email, ...own } = user;
      const flags = { deleted: false, is_bot: false, is_restricted: false, is_ultra_restricted: false };
      return json({ ok: true, user: { ...flags, ...own, profile: { email } } });
    };
    const { slack } = chats;
    if (seen.headers.authorization !== `Bearer ${tokens.slack}`) return [method, () => refuse('invalid_auth')];
    if (method === 'users.lookupByEmail' && seen.method === 'GET') {
      const email = query.get('email');
      const user = slack.users.find(one => one.email === email && !one.deleted);
      return [`${method} ${email}`, () => show(user, 'users_not_found')];
    }
    if (method === 'users.info' && seen.method === 'GET') {
      const user = slack.users.find(({ id }) => id === query.get('user'));
      return [`${method} ${query.get('user')}`, () => show(user, 'user_not_found')];
    }
    if (method !== 'usergroups.users.update' || seen.method !== 'POST') return [method, () => refuse('unknown_method')];
    const { usergroup, users, ...others } = isJson(seen) ? JSON.parse(seen.body) : {};
    return [
      `${method} ${usergroup} ${users}`,
      () => {
        if (Object.keys(others).length > 0) return refuse('invalid_arguments');
        if (!slack.groups.has(usergroup)) return refuse('no_such_subteam');
        if (typeof users !== 'string' || users === '') return refuse('no_users_provided');
        const ids = users.split(',');
        const found = ids.map(id => slack.users.find(one => one.id === id));
        if (found.some(one => !one || one.is_bot || one.is_restricted || one.deleted)) return refuse('invalid_users');
        slack.groups.set(usergroup, ids);
        return json({ ok: true, usergroup: { id: usergroup, users: ids, user_count: ids.length } });
      },
    ];
  }

  function answerMattermost(seen: RecordedRequest, path: string, query: URLSearchParams): [call: string, () => Reply] {
    const { mattermost } = chats;
    const refuse = (status: number, id: string) => json({ id, message: `${id} happened`, status_code: status }, status);
    const call = `${seen.method} ${path}`;
    if (seen.headers.authorization !== `Bearer ${tokens.mattermost}`)
      return [call, () => refuse(401, 'api.context.session_expired.app_error')];
    const [, email] = /^\/users\/email\/([^/]+)$/.exec(path) ?? [];
    if (email && seen.method === 'GET') {
      const user = mattermost.users.find(one => one.email === decodeURIComponent(email));
      const shown = user && { delete_at: 0, ...user };
      return [call, () => (shown ? json(shown) : refuse(404, 'app.user.missing_account.const'))];
    }
    const [, group] = /^\/groups\/([a-z0-9]{26})\/members$/.exec(path) ?? [];
    const members = group && mattermost.groups.get(group);
    if (!members) return [call, () => refuse(404, 'app.group.no_rows')];
    if (seen.method === 'GET') {
      const [page, perPage] = [Number(query.get('page')), Math.min(200, Number(query.get('per_page') ?? 60))];
      const some = members.slice(page * perPage, (page + 1) * perPage).map(id => ({ id }));
      return [call, () => json({ members: some.length > 0 ? some : null, total_member_count: members.length })];
    }
    const { user_ids, ...others } = isJson(seen) ? JSON.parse(seen.body) : {};
    return [
      `${call} ${user_ids}`,
      () => {
        const isKnown = (id: string) => mattermost.users.some(one => one.id === id);
        if (!Array.isArray(user_ids) || user_ids.length === 0 || Object.keys(others).length > 0)
          return refuse(400, 'api.context.invalid_body_param.app_error');
        if (!user_ids.every(isKnown)) return refuse(404, 'app.group.users_not_found');
        const without = members.filter(id => !user_ids.includes(id));
        mattermost.groups.set(group!, seen.method === 'POST' ? [...without, ...user_ids] : without);
        return json(user_ids.map(user_id => ({ group_id: group, user_id })));
      },
    ];
  }

  const chats: Omit<GroupChats, 'peer'> = {
    slack: { users: [], groups: new Map() },
    mattermost: { users: [], groups: new Map() },
    calls: [],
    intercept: () => undefined,
    channels: () => [
      {
        ...{ slug: 'team', name: 'Team', type: 'slack' },
        providers: [{ use: 'slack', token: tokens.slack, endpoint: `${peer.url}/slack/api` }],
      },
      {
        ...{ slug: 'matter', name: 'Matter', type: 'chat' },
        providers: [{ use: 'mattermost', token: tokens.mattermost, server_url: `${peer.url}/mattermost` }],
      },
      {
        ...{ slug: 'room', name: 'Room', type: 'slack' },
        providers: [{ use: 'slack-webhook', url: `${peer.url}/services/T0/B0/abcdefghijklmnop` }],
      },
    ],
    close: () => peer.close(),
  };
  const peer = await openHttpPeer(seen => {
    const { pathname, searchParams } = new URL(seen.path, peer.url);
    const [call, answer] = pathname.startsWith('/slack/api/')
      ? answerSlack(seen, pathname.slice('/slack/api/'.length), searchParams)
      : answerMattermost(seen, pathname.slice('/mattermost/api/v4'.length), searchParams);
    chats.calls.push(call);
    return chats.intercept(call) ?? answer();
  });
  return Object.assign(chats, { peer });
}
