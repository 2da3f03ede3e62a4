/** Context schemas over HTTP, in the declarative file and on the command line. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { applyConfiguration, exportConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { type Ask, asker } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const event = '/api/o/acme/p/shop/a/web/e/order-paid/';
const schema = {
  type: 'object',
  required: ['order', 'amount'],
  properties: {
    order: { type: 'string', pattern: '^[A-Z]-[0-9]+$', examples: ['A-1042'] },
    amount: { type: 'number', minimum: 0 },
  },
};
const save = (context_schema: unknown) => ask({ method: 'PATCH', path: event, body: { context_schema } });
const trigger = (context: unknown, options: object = {}) =>
  ask({ method: 'POST', path: `${event}trigger/`, body: { context, options } });
const refusal = {
  status: 400,
  code: 'context.invalid',
  errors: { 'context/amount': ['is required'], 'context/order': [expect.stringContaining('must match')] },
};

describe('an event with a schema', () => {
  beforeAll(async () => {
    const saved = await save(schema);
    expect(saved.status, saved.text).toBe(200);
  });

  test('is returned with the schema and a sample', async () => {
    const { body } = await ask({ path: event });
    expect(JSON.stringify(body.context_schema)).toBe(JSON.stringify(schema));
    expect(body.sample_context).toEqual({ order: 'A-1042', amount: 0 });
  });

  test('accepts a matching context, and refuses others with their fields', async () => {
    expect((await trigger({ order: 'A-1', amount: 2 })).status).toBe(201);
    const refused = await trigger({ order: 'x' });
    expect(refused.body).toMatchObject(refusal);
    expect(refused.headers['content-type']).toContain('application/problem+json');
  });

  test('stores nothing of a refused trigger', async () => {
    const count = async () => (await ask({ path: '/api/o/acme/occurrence/' })).body.length;
    const before = await count();
    await trigger({ order: 'x' });
    await trigger(undefined);
    expect(await count()).toBe(before);
  });

  test('refuses dry runs and simulations as well', async () => {
    expect((await trigger({ order: 'x' }, { dry_run: true })).body).toMatchObject(refusal);
    const simulated = await ask({ method: 'POST', path: `${event}simulate/`, body: { context: { order: 'x' } } });
    expect(simulated.body).toMatchObject(refusal);
    const fits = { context: { order: 'A-1', amount: 1 } };
    expect((await ask({ method: 'POST', path: `${event}simulate/`, body: fits })).status).toBe(200);
  });

  test('is resolved without a context', async () => {
    expect((await trigger(undefined, { dedup_key: 'd', resolve: true })).status).toBe(201);
  });

  test('keeps the schema when its notifications or other fields change', async () => {
    await ask({ method: 'PATCH', path: event, body: { name: 'Paid' } });
    const [{ id }] = (await ask({ path: `${event}n/` })).body;
    const changed = await ask({ method: 'PATCH', path: `${event}n/${id}/`, body: { active: false } });
    expect(changed.status, changed.text).toBe(200);
    expect((await ask({ path: event })).body.context_schema).toEqual(schema);
  });

  test('applies a changed schema at once and records the change', async () => {
    await save({ ...schema, required: ['order'] });
    expect((await trigger({ order: 'A-1' })).status).toBe(201);
    const [entry] = (await ask({ path: '/api/o/acme/audit/?limit=1' })).body;
    expect(entry).toMatchObject({
      noun: 'event',
      before: { 'context_schema.required': ['order', 'amount'] },
      after: { 'context_schema.required': ['order'] },
    });
    await save(null);
    expect((await ask({ path: event })).body).toMatchObject({ context_schema: null, sample_context: null });
    expect((await trigger({ whatever: 1 })).status).toBe(201);
  });
});

test('an invalid schema is refused with the path of the mistake', async () => {
  const refused = await save({ type: 'object', properties: { a: { typ: 'string' } } });
  expect(refused.body).toMatchObject({
    status: 400,
    code: 'request.invalid',
    errors: { 'context_schema/properties/a/typ': [expect.stringContaining('not a supported keyword')] },
  });
  expect((await save('object')).body.errors).toHaveProperty('context_schema');
  const created = { slug: 'new', name: 'New', context_schema: { type: 'array' } };
  const path = '/api/o/acme/p/shop/a/web/e/';
  expect((await ask({ method: 'POST', path, body: created })).body.errors).toHaveProperty('context_schema/type');
});

test('an event can be created with a schema', async () => {
  const body = { slug: 'made', name: 'Made', context_schema: schema };
  const made = await ask({ method: 'POST', path: '/api/o/acme/p/shop/a/web/e/', body });
  expect(made.body.context_schema, made.text).toEqual(schema);
});

test('the declarative file sets, keeps and removes the schema', async () => {
  const { deps } = service.runtime;
  const apply = async (fields: object) => {
    const events = [{ slug: 'sent', name: 'Sent', ...fields }];
    const applications = [{ slug: 'web', name: 'Web', events }];
    const projects = [{ slug: 'shop', name: 'Shop', applications }];
    await applyConfiguration(deps, { organizations: [{ slug: 'filed', name: 'Filed', projects }] }, { prune: false });
    const { organizations } = await exportConfiguration(deps, ['filed']);
    return organizations[0]!.projects![0]!.applications![0]!.events![0]!.context_schema;
  };
  expect(await apply({ context_schema: schema })).toEqual(schema);
  expect(await apply({})).toEqual(schema);
  expect(await apply({ context_schema: null })).toBeUndefined();
});
