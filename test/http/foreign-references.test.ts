/**
 * Bodies that reference objects of another organization, or of a project outside the key's scope, are answered like bodies
 * that reference nothing, and the other's rows stay unchanged. The bodies are generated from the route table, so a new
 * property that references an object must be listed here.
 * @module-tag sweep
 */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import type { Route } from '../../src/http/server/route.ts';
import { ask } from '../support/api.ts';
import { fill, parametersOf, pathValues } from '../support/api-paths.ts';
import { keyRoutes } from '../support/api-routes.ts';
import { validBody } from '../support/api-valid.ts';
import { listValues, type Step, withValueAt } from '../support/json-paths.ts';
import { keyIdOf, type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let values: ReturnType<typeof pathValues>;

beforeAll(async () => {
  // Without workers: nothing but the requests themselves changes the database.
  ({ service, tenants } = await testTenants());
  values = pathValues(tenants);
  const { rival, acme } = tenants;
  await nameAlone(rival.id, rival.projectId, 'rivals');
  await nameAlone(acme.id, acme.otherProjectId, 'siblings');
});
afterAll(() => service.stop());

/** Objects of a project whose names are used nowhere else. */
async function nameAlone(organizationId: number, projectId: number, name: string): Promise<void> {
  const { pool } = service.runtime.database;
  const at = [organizationId, projectId];
  await pool.query(
    `insert into channels (organization_id, project_id, slug, name, type) values ($1, $2, '${name}', '${name}', 'email')`,
    at,
  );
  await pool.query(
    `insert into distribution_lists (organization_id, project_id, name, name_key) values ($1, $2, '${name}', '${name}')`,
    at,
  );
  await pool.query(
    `insert into layouts (organization_id, project_id, name, name_key, body) values ($1, $2, '${name}', '${name}', '{{ content }}')`,
    at,
  );
  await pool.query(
    `with app as (insert into applications (organization_id, project_id, slug, name) values ($1, $2, '${name}', '${name}') returning id)
     insert into events (organization_id, application_id, slug, name) select $1, id, '${name}', '${name}' from app`,
    at,
  );
  const layers = '[{"name":"all","every":"1d","from":"2027-01-04T00:00","users":["jane@acme.test"]}]';
  await pool.query(
    `insert into schedules (organization_id, project_id, slug, name, timezone, layers, combine)
     values ($1, $2, '${name}', '${name}', 'UTC', '${layers}', 'cover') on conflict do nothing`,
    at,
  );
  if (name !== 'rivals') return;
  await pool.query(
    `insert into categories (organization_id, slug, name, kind) values ($1, '${name}', '${name}', 'promotional')`,
    [organizationId],
  );
  await pool.query(`insert into projects (organization_id, slug, name) values ($1, '${name}', '${name}')`, [
    organizationId,
  ]);
}

interface Reference {
  /** Of another organization. */
  rivals: unknown[];
  /** Of another project of the same organization. */
  siblings?: unknown[];
  nowhere: unknown;
}

/** The properties that name another object, by their name or the name of the array that they are in. */
const references: Record<string, (tenants: Tenants) => Reference> = {
  channels: () => ({ rivals: ['rivals'], siblings: ['siblings', 'hooks'], nowhere: 'nowhere' }),
  channel: () => ({ rivals: ['rivals'], siblings: ['siblings'], nowhere: 'nowhere' }),
  limit_to: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  recipients: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  list: () => ({ rivals: ['rivals'], siblings: ['siblings', 'Staff'], nowhere: 'nowhere' }),
  distribution_list: () => ({ rivals: ['rivals'], siblings: ['siblings', 'Staff'], nowhere: 'nowhere' }),
  layout: () => ({ rivals: ['rivals'], siblings: ['siblings'], nowhere: 'nowhere' }),
  category: () => ({ rivals: ['rivals'], nowhere: 'nowhere' }),
  project: () => ({ rivals: ['rivals'], nowhere: 'nowhere' }),
  application: () => ({ rivals: ['rivals'], siblings: ['siblings', 'forklift'], nowhere: 'nowhere' }),
  event: () => ({ rivals: ['rivals'], siblings: ['siblings'], nowhere: 'nowhere' }),
  'preferences/event': () => ({ rivals: ['shop/rivals/rivals', 'rivals/web/order-paid'], nowhere: 'no/such/event' }),
  path: () => ({ rivals: ['shop/rivals/rivals', 'rivals/web/order-paid'], nowhere: 'no/such/event' }),
  'groups/channel': () => ({ rivals: ['rivals'], siblings: ['siblings'], nowhere: 'nowhere' }),
  schedule: () => ({ rivals: ['rivals'], siblings: ['siblings'], nowhere: 'nowhere' }),
  on_change: () => ({ rivals: ['rivals/rivals'], siblings: ['siblings/siblings'], nowhere: 'nowhere/nowhere' }),
  page: () => ({ rivals: ['web/rivals'], siblings: ['web/siblings'], nowhere: 'web/nowhere' }),
  fallback: () => ({ rivals: ['rivals'], siblings: ['siblings', 'Staff'], nowhere: 'nowhere' }),
  'layers/users': () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  replaces: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  user: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  username: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  to: () => ({ rivals: ['jane@rival.test'], nowhere: 'jane@nobody.test' }),
  occurrence: ({ rival }) => ({
    rivals: rival.occurrences.map(({ id }) => id),
    nowhere: '00000000-0000-7000-8000-000000000000',
  }),
  'options/attachments/id': ({ rival }) => ({
    rivals: rival.attachmentIds,
    nowhere: '00000000-0000-7000-8000-000000000000',
  }),
  id: ({ rival }) => ({ rivals: rival.occurrences.map(({ deliveryId }) => deliveryId), nowhere: 999_999_999 }),
  revokeKey: ({ rival }) => ({ rivals: [keyIdOf(rival.keys.all), 'rival all'], nowhere: 'nowhere' }),
};
/** Properties that name no other object. */
const plain = new Set(
  `_mode b bounced canary complained duration ends_at failed field first_rate matchers op rate recurrence starts_at stop_at urgent_rate variants wait winner_by
  ack acknowledge acknowledgement_expires action actions active addresses after allowed_networks app assign_to_preferred_channel attachment_bytes attachments audience auth
  acknowledged avatar body brand_color grace cause channel_defaults channel_type concurrency content_id content_type context context_schema custom_fields dedup_key default delay
  deliveries deliveries_per_trigger description detail digest drop dry_run email enabled endpoint environs every expires expires_at
  expirationTime expires_in extra_context filter first first_audience first_name for four_eyes from give_up_after group groups guard headers idempotency_key items key keys kind label last_name
  locale locales locked logo_url max max_bounce_percent max_complaint_percent max_key_lifetime_days max_per_day message method more name notify_resolved on_unknown options group_by mapping
  organization overflow overlap overrides p256dh payload per per_second permissions platform preferences priority provider providers prune quiet_hours
  rate_per_second reason repeat reputation_guard request requests_per_second required resolve retention_days retry role round_robin routes resolved secret send_at silence_for slug source steps
  severity stored_messages strict subject target throttle time timezone title token track trigger triggers_per_second type types unacknowledged unless until update update_secret url use users value
  first_page service_levels share taken_in within
  urgent weekdays words when alerts at combine days layers offset only since reach normal important by test verified code`.split(
    /\s+/,
  ),
);
/** The same names for something else: settings of a provider, expressions, times of day, an application's own data. */
const others = /providers|quiet_hours|custom_fields|context|^(digest|throttle)\/key$/;

/** Of `applyConfiguration`, which changes what the next answer says, `planConfiguration` is the first half. */
const withBody = keyRoutes.filter(route => route.body && !route.consumes && route.id !== 'applyConfiguration');

/** Returns which reference is at a path; undefined for a plain value. */
function referenceAt({ id }: Route, path: Step[], value: unknown): Reference | undefined {
  const names = path.filter(step => typeof step === 'string');
  if (typeof value === 'object' || names.length === 0 || others.test(names.join('/'))) return undefined;
  const find = references[names.join('/')] ?? (names[0] === 'key' ? references[id] : references[names.at(-1)!]);
  return find?.(tenants);
}

/** What an answer says, whichever object it was about, and whatever numbers and times it happened to have. */
function gist(text: string, value: unknown): string {
  return (
    text
      .replace(/"request_id":"[^"]*"/, '')
      .replaceAll(String(value), '…')
      // Some name only the last part of a path.
      .replaceAll(`\\"${String(value).split('/').at(-1)}\\"`, '…')
      .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid')
      .replaceAll(/\d+(\.\d+)?/g, '0')
  );
}

/** A swap is accepted only once. */
async function reopenSwaps(): Promise<void> {
  const swaps = "update schedule_swaps set state = 'open', accepted_by_id = null where organization_id = $1";
  await service.runtime.database.pool.query(swaps, [tenants.acme.id]);
}

/** The rows of an organization, in all tables. */
async function fingerprint(organizationId: number): Promise<string> {
  const { rows: tables } = await sql<{ name: string; column: string }>`
    select c.relname as name, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and (a.attname = 'organization_id' or (c.relname = 'organizations' and a.attname = 'id'))
    order by 1`.execute(service.runtime.deps.db);
  const each = tables.map(
    ({ name, column }) => `select '${name}' as name, count(*) as rows,
      sum(hashtextextended((to_jsonb(t) - 'last_used_at')::text, 0)::numeric) as contents from ${name} t where ${column} = $1`,
  );
  const { rows } = await service.runtime.database.pool.query(each.join(' union all '), [organizationId]);
  return JSON.stringify(rows);
}

test.each(withBody)(
  'a body of $id that references an inaccessible object is answered like one with an unknown reference',
  async route => {
    const { keys } = tenants.acme;
    const isOfProject = parametersOf(route.path).includes('prj');
    const before = await fingerprint(tenants.rival.id);
    for (const [path, value] of listValues(validBody(route, tenants))) {
      const { rivals = [], siblings = [], nowhere } = referenceAt(route, path, value) ?? {};
      const answers = async (key: string, named: unknown) => {
        await reopenSwaps();
        const body = withValueAt(validBody(route, tenants), path, named);
        const { status, text } = await ask(service.address, {
          method: route.method,
          path: fill(route.path, values),
          key,
          body,
        });
        return [status, gist(text, named)];
      };
      const expectAlike = async (key: string, named: unknown[]) => {
        if (named.length === 0) return;
        const expected = await answers(key, nowhere);
        for (const one of named) expect(await answers(key, one), `${path.join('/')} = ${one}`).toEqual(expected);
      };
      await expectAlike(keys.all, isOfProject ? [...rivals, ...siblings] : rivals);
      if (isOfProject) await expectAlike(keys.onProject, siblings);
    }
    expect(await fingerprint(tenants.rival.id)).toBe(before);
  },
);

test('every property of a body is listed as a reference or as a plain value', () => {
  const names = new Set(withBody.flatMap(route => propertiesOf(route.body)));
  const undecided = [...names].filter(name => !plain.has(name) && !references[name]);
  expect(undecided, 'add it to `references`, or to `plain` where it names no other object').toEqual([]);
});

function propertiesOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = 'properties' in schema ? Object.keys(schema.properties as object) : [];
  return [...own, ...Object.values(schema).flatMap(propertiesOf)];
}

describe('a cursor', () => {
  const lists = keyRoutes.filter(route => 'list' in route && route.method === 'GET');
  const nextOf = (link: string | undefined) => /[?&]cursor=([^&>]+)/.exec(link ?? '')?.[1];

  test('of another organization or list shows only rows of the list it is used in', { tags: ['sweep'] }, async () => {
    const { acme, rival } = tenants;
    const cursors = new Set<string>();
    for (const route of lists) {
      for (const [tenant, at] of [
        [acme, values],
        [rival, rivalValues()],
      ] as const) {
        const answer = await ask(service.address, { path: `${fill(route.path, at)}?limit=1`, key: tenant.keys.all });
        const cursor = nextOf(answer.headers.link);
        if (cursor) cursors.add(cursor);
      }
    }
    expect(cursors.size).toBeGreaterThan(10);
    for (const route of lists) {
      const path = fill(route.path, values);
      const whole = await ask(service.address, { path, key: acme.keys.all });
      const rows = new Set((whole.body as unknown[]).map(row => JSON.stringify(row)));
      for (const cursor of cursors) {
        const { status, body, text } = await ask(service.address, {
          path: `${path}?cursor=${cursor}`,
          key: acme.keys.all,
        });
        expect([200, 400], text).toContain(status);
        if (status === 200) for (const row of body) expect(rows, `${route.id} ${text}`).toContain(JSON.stringify(row));
      }
    }
  });
});

/** The same places in the other organization. */
function rivalValues(): typeof values {
  return pathValues({ ...tenants, acme: tenants.rival, rival: tenants.acme });
}
