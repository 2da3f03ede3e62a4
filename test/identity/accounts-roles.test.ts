/**
 * Every role on every route, generated from the route table.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { permissions } from '../../src/core/identity/permissions.ts';
import { permissionsOf, type Role, roles } from '../../src/core/identity/roles.ts';
import { routes } from '../../src/http/routes.ts';
import { type Browser, signInNewAccount } from '../support/accounts.ts';
import { expectProblem } from '../support/api.ts';
import { fill, parametersOf, pathValues } from '../support/api-paths.ts';
import { keyRoutes } from '../support/api-routes.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let values: ReturnType<typeof pathValues>;
const people = {} as Record<Role | 'stranger' | 'instance', Browser & { email: string }>;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  values = pathValues(tenants);
  const { deps } = service.runtime;
  const person = (input: object) => signInNewAccount(service.address, deps, input);
  for (const role of roles) people[role] = await person({ membership: { organization: 'acme', role } });
  people.stranger = await person({ membership: { organization: 'rival', role: 'owner' } });
  people.instance = await person({ admin: true });
});
afterAll(() => service.stop());

test('each role includes the previous one, and an owner has all permissions', () => {
  expect(permissionsOf('owner')).toEqual(permissions);
  for (const [i, role] of roles.entries()) {
    const less = i === 0 ? [] : permissionsOf(roles[i - 1]!);
    expect(permissionsOf(role)).toEqual(expect.arrayContaining([...less]));
    expect(permissionsOf(role).length).toBeGreaterThan(less.length);
  }
});

test('each role adds exactly these permissions', () => {
  const added = (role: Role, before: Role) =>
    permissionsOf(role).filter(permission => !permissionsOf(before).includes(permission));
  expect(permissionsOf('viewer').filter(permission => /:(write|delete|trigger)$/.test(permission))).toEqual([]);
  expect(permissionsOf('viewer')).not.toEqual(expect.arrayContaining(['audit:read']));
  expect(added('editor', 'viewer')).toEqual(expect.arrayContaining(['event:trigger', 'template:write', 'user:write']));
  expect(added('admin', 'editor')).toEqual(
    expect.arrayContaining(['account:write', 'audit:read', 'channel:write', 'key:write', 'organization:write']),
  );
  expect(added('owner', 'admin')).toEqual(['organization:delete', 'security:write']);
});

const inOrganization = keyRoutes.filter(route => route.path.includes(':org'));
const matrix = inOrganization.flatMap(route => roles.map(role => ({ ...route, role })));

describe.each(matrix)('$role: $method $path', ({ method, path, permission, body, role }) => {
  const allowed = (permissionsOf(role) as readonly string[]).includes(permission);
  const nowhere = () =>
    Object.fromEntries(parametersOf(path).flatMap(name => (name === 'org' ? [] : [[name, 'nowhere']])));
  const send = (who: Browser, at = fill(path, values)) =>
    who.ask({
      method,
      path: at,
      body: body && '{',
      ...(method === 'DELETE' && { headers: { 'if-match': '"something else"' } }),
    });

  test(allowed ? 'is served' : 'is refused without revealing what exists', async () => {
    const answer = await send(people[role]);
    if (allowed) return expect([401, 403, 404, 405, 500], answer.text).not.toContain(answer.status);
    expectProblem(answer, 403, 'role.permission');
    expectProblem(await send(people[role], fill(path, values, nowhere())), 403, 'role.permission');
  });
});

describe.each(inOrganization)('$method $path', ({ method, path, body }) => {
  const send = (who: Browser, org: string) =>
    who.ask({
      method,
      path: fill(path, values, { org }),
      body: body && '{',
      ...(method === 'DELETE' && { headers: { 'if-match': '"something else"' } }),
    });

  test('does not exist for accounts that are not members, like an organization that does not exist', async () => {
    const foreign = await send(people.stranger, 'acme');
    const none = await send(people.stranger, 'nowhere');
    expectProblem(foreign, 404, 'organization.not_found');
    const { request_id, detail, ...problem } = none.body;
    expect(foreign.body).toMatchObject(problem);
    expect(foreign.body.detail).toBe(detail.replace('nowhere', 'acme'));
  });

  test('exists for an instance admin', async () => {
    expect([401, 403, 404, 500]).not.toContain((await send(people.instance, 'acme')).status);
  });
});

test('outside organizations an account can ping and list its own organizations, but not create one', async () => {
  const { viewer, stranger, instance } = people;
  expect((await viewer.ask({ path: '/api/system/ping/' })).body).toEqual({ token: viewer.email });
  expect((await viewer.ask({ path: '/api/o/' })).body).toEqual([{ slug: 'acme', name: 'The acme company' }]);
  expect((await stranger.ask({ path: '/api/o/' })).body).toEqual([{ slug: 'rival', name: 'The rival company' }]);
  expect((await instance.ask({ path: '/api/o/' })).body.map((o: { slug: string }) => o.slug)).toEqual([
    'acme',
    'rival',
  ]);
  for (const role of roles) {
    const body = { slug: 'mine', name: 'Mine' };
    expectProblem(await people[role].ask({ method: 'POST', path: '/api/o/', body }), 403, 'role.permission');
  }
  expect(routes.some(route => route.permission === 'organization:create')).toBe(true);
});

test('an instance admin creates organizations and owns them', async () => {
  const { instance, owner } = people;
  const create = (slug: string) => instance.ask({ method: 'POST', path: '/api/o/', body: { slug, name: 'New' } });
  const answer = await create('new');
  expect(answer.status, answer.text).toBe(201);
  expect(answer.body).toEqual({ slug: 'new', name: 'New', retention_days: 90, created_at: expect.any(String) });
  expect(answer.headers.location).toMatch(/\/api\/o\/new\/$/);
  expectProblem(await create('new'), 409, 'resource.exists', ['slug']);
  expectProblem(await create('Not a slug'), 400, 'request.invalid', ['slug']);
  const { body: members } = await instance.ask({ path: '/api/o/new/account/' });
  expect(members).toMatchObject([{ email: instance.email, role: 'owner' }]);
  expectProblem(await owner.ask({ path: '/api/o/new/' }), 404, 'organization.not_found');
});

test('an account cannot grant a key permissions that it lacks', async () => {
  const create = (who: Browser, granted: string[]) =>
    who.ask({ method: 'POST', path: '/api/o/acme/k/', body: { name: granted.join(), permissions: granted } });
  expectProblem(await create(people.admin, ['*']), 400, 'request.invalid', ['permissions']);
  expectProblem(await create(people.admin, ['organization:delete']), 400, 'request.invalid', ['permissions']);
  expectProblem(await create(people.instance, ['organization:create']), 400, 'request.invalid', ['permissions']);
  expect((await create(people.admin, ['user:read'])).status).toBe(201);
  expect((await create(people.owner, ['*'])).status).toBe(201);
});

test('a key lists its own organization, and a key limited to a project lists none', async () => {
  const { keys } = tenants.acme;
  const list = (key: string) => people.viewer.ask({ path: '/api/o/', key, headers: { cookie: '' } });
  expect((await list(keys.all)).body).toEqual([{ slug: 'acme', name: 'The acme company' }]);
  expect((await list(keys.onProject)).body).toEqual([]);
});
