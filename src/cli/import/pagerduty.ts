/** Reads PagerDuty's API, page by page. */
import { AppError } from '../../core/errors.ts';
import { convertPagerDuty } from '../../core/import/pagerduty/convert.ts';
import { PagerDutyExport, resourceLists } from '../../core/import/pagerduty/resources.ts';
import { pick } from '../../core/import/pick.ts';
import { isObject } from '../../core/json.ts';
import { parse } from '../../core/schema.ts';
import { type ApiClient, openApi } from './client.ts';
import type { ImportedSystem } from './system.ts';

const pageSize = 100;
const maxPages = 1_000;
const dayMs = 86_400_000;
/** Overrides are read for longer than shifts are compared: they are few. */
const overrideDays = 365;

type Item = Record<string, unknown>;
type Query = Record<string, string | string[]>;

export const pagerduty: ImportedSystem = {
  defaultUrl: 'https://api.pagerduty.com',
  defaultChannels: 'personal',
  headers: token => ({ accept: 'application/vnd.pagerduty+json;version=2', authorization: `Token token=${token}` }),
  tokenHint:
    'create a read-only one in PagerDuty under Integrations, API Access Keys; accounts in the EU have another --url',
  async download(options, { from, until }) {
    const api = openApi(options);
    const notRead: string[] = [];
    /** What not every account has. */
    const readOptional = async (path: string, name: string, what: string) => {
      const items = await readPages(api, path, name, {}, true);
      if (!items) notRead.push(what);
      return items ?? [];
    };
    const range = { since: from.toISOString(), until: until.toISOString() };
    const later = { since: range.since, until: new Date(from.getTime() + overrideDays * dayMs).toISOString() };
    const users = await readPages(api, 'users', 'users', { 'include[]': ['contact_methods', 'notification_rules'] });
    const teams = await readPages(api, 'teams', 'teams');
    const shiftBased = await readOptional('v3/schedules', 'schedules', 'shift-based schedules');
    const shiftIds = new Set(shiftBased.map(idOf));
    const schedules: unknown[] = [];
    for (const id of (await readPages(api, 'schedules', 'schedules')).map(idOf)) {
      if (shiftIds.has(id)) continue;
      const path = `schedules/${encodeURIComponent(id)}`;
      const schedule = partOf(await api.get(path, range), 'schedule');
      const overrides = itemsOf(await api.get(`${path}/overrides`, later), 'overrides');
      schedules.push({ ...schedule, overrides, final: finalOf(schedule, 'rendered_schedule_entries', range, toEntry) });
    }
    const shiftSchedules: unknown[] = [];
    for (const id of shiftIds) {
      const path = `v3/schedules/${encodeURIComponent(id)}`;
      const schedule = partOf(await api.get(path, { ...range, 'include[]': 'final_schedule' }), 'schedule');
      const custom_shifts = await readPages(api, `${path}/custom_shifts`, 'custom_shifts', later);
      const overrides = await readPages(api, `${path}/overrides`, 'overrides', later);
      const rotations = asArray(schedule.rotations).map(one => ({ ...one, events: one.events ?? [] }));
      const final = finalOf(schedule, 'computed_shift_assignments', range, toAssignment);
      shiftSchedules.push({ ...schedule, rotations, custom_shifts, overrides, final });
    }
    const policies = await readPages(api, 'escalation_policies', 'escalation_policies');
    const services = await readPages(api, 'services', 'services', { 'include[]': 'integrations' });
    const data: Item = {
      users,
      teams,
      schedules,
      shift_schedules: shiftSchedules,
      escalation_policies: policies.map(withStrategies),
      services: services.map(withUrgency),
      maintenance_windows: await readPages(api, 'maintenance_windows', 'maintenance_windows', { filter: 'open' }),
      orchestrations: await readOptional('event_orchestrations', 'orchestrations', 'event orchestrations'),
      rulesets: await readOptional('rulesets', 'rulesets', 'rulesets'),
    };
    const picked = Object.entries(resourceLists).map(([name, schema]) => [name, pick(schema, data[name])]);
    // Undefined fields are left out, as in the file.
    const content = {
      source: 'pagerduty',
      version: 1,
      fetched_at: range.since,
      ...Object.fromEntries(picked),
      not_read: notRead,
    };
    return JSON.parse(JSON.stringify(content));
  },
  parse(content) {
    const data = parse(PagerDutyExport, content);
    return { fetchedAt: data.fetched_at, convert: options => convertPagerDuty(data, options) };
  },
};

/** Returns undefined if it is `optional` and the account does not have it. */
async function readPages(api: ApiClient, path: string, name: string, query?: Query): Promise<Item[]>;
async function readPages(
  api: ApiClient,
  path: string,
  name: string,
  query: Query,
  optional: true,
): Promise<Item[] | undefined>;
async function readPages(api: ApiClient, path: string, name: string, query: Query = {}, optional = false) {
  const items: Item[] = [];
  for (let page = 0; page < maxPages; page++) {
    const own = { ...query, limit: String(pageSize), offset: String(items.length) };
    const answer = await (optional ? api.find(path, own) : api.get(path, own));
    if (answer === undefined) return undefined;
    const found = itemsOf(answer, name);
    items.push(...found);
    if (!isObject(answer) || answer.more !== true || found.length === 0) return items;
  }
  throw new AppError('import.failed', `${name} has more than ${maxPages} pages`);
}

function itemsOf(answer: unknown, name: string): Item[] {
  if (isObject(answer) && Array.isArray(answer[name])) return answer[name].filter(isObject);
  throw new AppError('import.failed', `the answer has no ${name}: check --url`);
}

function partOf(answer: unknown, name: string): Item {
  if (isObject(answer) && isObject(answer[name])) return answer[name];
  throw new AppError('import.failed', `the answer has no ${name}: check --url`);
}

const idOf = ({ id }: Item) => String(id);
const asArray = (value: unknown): Item[] => (Array.isArray(value) ? value.filter(isObject) : []);
const asObject = (value: unknown): Item => (isObject(value) ? value : {});

/** Returns the shifts that PagerDuty has computed; undefined if it has not. */
function finalOf(
  schedule: Item,
  name: string,
  { since, until }: { since: string; until: string },
  read: (one: Item) => Item[],
) {
  const final = asObject(schedule.final_schedule)[name];
  return Array.isArray(final) ? { from: since, until, shifts: asArray(final).flatMap(read) } : undefined;
}

function toEntry({ user, start, end }: Item): Item[] {
  return [{ user: asObject(user).id, from: start, until: end }];
}

function toAssignment({ member, source, start_time, end_time }: Item): Item[] {
  const { type, user_id } = asObject(member);
  if (type === 'empty_member') return [];
  const { type: kind, rotation_id } = asObject(source);
  // Whose turn it is can be seen only where no one has taken it over.
  const rotation = kind === 'schedule_rotation' ? rotation_id : null;
  return [{ user: user_id, from: start_time, until: end_time, rotation }];
}

/** The API describes the strategy as a text, and shows it as a list of objects. */
function withStrategies(policy: Item): Item {
  const rules = asArray(policy.escalation_rules).map(rule => {
    const [strategy] = [rule.escalation_rule_assignment_strategy].flat();
    return { ...rule, strategy: isObject(strategy) ? strategy.type : (strategy ?? null) };
  });
  return { ...policy, escalation_rules: rules };
}

function withUrgency(service: Item): Item {
  const integrations = asArray(service.integrations).map(one => ({
    ...one,
    vendor: asObject(one.vendor).summary ?? null,
  }));
  return { ...service, urgency: service.incident_urgency_rule ?? null, integrations };
}
