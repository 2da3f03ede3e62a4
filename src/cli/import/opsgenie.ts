/** Reads Opsgenie's API, page by page. */
import type { TSchema } from 'typebox';
import { AppError } from '../../core/errors.ts';
import { convertOpsgenie } from '../../core/import/opsgenie/convert.ts';
import {
  Escalation,
  ForwardingRule,
  Integration,
  Maintenance,
  OpsgenieExport,
  Policy,
  Schedule,
  Team,
  User,
} from '../../core/import/opsgenie/resources.ts';
import { pick } from '../../core/import/pick.ts';
import { isObject } from '../../core/json.ts';
import { parse } from '../../core/schema.ts';
import { type ApiClient, openApi } from './client.ts';
import type { ImportedSystem } from './system.ts';

type Item = Record<string, unknown>;
const pageSize = 100;
const maxPages = 1_000;

export const opsgenie: ImportedSystem = {
  headers: token => ({ authorization: `GenieKey ${token}` }),
  tokenHint:
    'create an API key in Opsgenie under Settings, API key management, with the access rights Read and Configuration access',
  defaultChannels: 'personal',
  async download(options, { from, until }) {
    const api = openApi(options);
    const unread: string[] = [];
    const users = await each(await list(api, 'v2/users'), async user => {
      const path = `v2/users/${idOf(user)}`;
      const contacts = await list(api, `${path}/contacts`);
      const rules = await list(api, `${path}/notification-rules`);
      const notificationRules = await each(rules, rule =>
        isNeeded(rule) ? read(api, `${path}/notification-rules/${idOf(rule)}`, rule) : Promise.resolve(rule),
      );
      return { ...user, contacts, notificationRules };
    });
    const policies = await listOptional(api, 'v2/policies/alert', 'policies', unread);
    const teams = await each(await list(api, 'v2/teams'), async team => {
      const path = `v2/teams/${idOf(team)}`;
      for (const kind of ['alert', 'notification']) {
        const own = await listOptional(api, `v2/policies/${kind}`, 'policies', unread, { teamId: String(team.id) });
        policies.push(...own.map(policy => ({ ...policy, team: team.name })));
      }
      return { ...(await read(api, path, team)), routingRules: await list(api, `${path}/routing-rules`) };
    });
    const date = `${from.toISOString().slice(0, 19)}Z`;
    const interval = String(Math.round((until.getTime() - from.getTime()) / 86_400_000));
    const schedules = await each(await list(api, 'v2/schedules', { expand: 'rotation' }), async schedule => {
      const path = `v2/schedules/${idOf(schedule)}`;
      const overrides = await list(api, `${path}/overrides`);
      if (schedule.enabled === false) return { ...schedule, overrides };
      const query = { interval, intervalUnit: 'days', date, expand: 'base,forwarding,override' };
      return { ...schedule, overrides, timeline: dataOf(await api.get(`${path}/timeline`, query), `${path}/timeline`) };
    });
    const escalations = await list(api, 'v2/escalations');
    const integrations = await each(await list(api, 'v2/integrations'), one =>
      read(api, `v2/integrations/${idOf(one)}`, one),
    );
    const forwardings = await listOptional(api, 'v2/forwarding-rules', 'forwarding rules', unread);
    const planned = await listOptional(api, 'v1/maintenance', 'maintenance', unread, { type: 'non-expired' });
    const maintenance = await each(planned, one => read(api, `v1/maintenance/${idOf(one)}`, one));
    return {
      source: 'opsgenie',
      version: 1,
      fetched_at: date,
      users: pickAll(User, users),
      teams: pickAll(Team, teams),
      schedules: pickAll(Schedule, schedules),
      escalations: pickAll(Escalation, escalations),
      integrations: pickAll(Integration, integrations),
      forwarding_rules: pickAll(ForwardingRule, forwardings),
      policies: pickAll(Policy, policies),
      maintenance: pickAll(Maintenance, maintenance),
      unread: [...new Set(unread)],
    };
  },
  parse(content) {
    const data = parse(OpsgenieExport, content);
    return { fetchedAt: data.fetched_at, convert: options => convertOpsgenie(data, options) };
  },
};

const pickAll = (schema: TSchema, items: Item[]) => items.map(item => pick(schema, item));
const idOf = (item: Item) => encodeURIComponent(String(item.id));
/** Rules for anything else than new alerts are only named. */
const isNeeded = ({ actionType, enabled }: Item) => actionType === 'create-alert' && enabled !== false;

/** One after the other: the API limits requests per minute. */
async function each(items: Item[], complete: (item: Item) => Promise<Item>): Promise<Item[]> {
  const completed: Item[] = [];
  for (const item of items) completed.push(await complete(item));
  return completed;
}

/** Pages are counted instead of following their links: a link to another host would get the key. */
async function list(api: Pick<ApiClient, 'get'>, path: string, query: Record<string, string> = {}): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = 0; page < maxPages; page++) {
    const answer = await api.get(path, { ...query, limit: String(pageSize), offset: String(items.length) });
    const data = isObject(answer) ? answer.data : undefined;
    if (!Array.isArray(data)) throw new AppError('import.failed', `the answer for ${path} has no data: check --url`);
    items.push(...data.filter(isObject));
    const { paging } = answer as { paging?: { next?: unknown } };
    if (!paging?.next || data.length === 0) return items;
  }
  throw new AppError('import.failed', `${path} has more than ${maxPages} pages`);
}

/** Some lists are not part of each plan of Opsgenie, or need more rights of the key. */
async function listOptional(
  api: ApiClient,
  path: string,
  name: string,
  unread: string[],
  query: Record<string, string> = {},
): Promise<Item[]> {
  const get: ApiClient['get'] = async (...request) => {
    const answer = await api.find(...request);
    if (answer === undefined) unread.push(name);
    return answer ?? { data: [] };
  };
  return list({ get }, path, query);
}

/** Returns an item with all of its fields. */
async function read(api: ApiClient, path: string, item: Item): Promise<Item> {
  return { ...item, ...dataOf(await api.get(path), path) };
}

function dataOf(answer: unknown, path: string): Item {
  if (isObject(answer) && isObject(answer.data)) return answer.data;
  throw new AppError('import.failed', `the answer for ${path} has no data: check --url`);
}
