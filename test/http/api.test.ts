/**
 * Authentication, permissions and errors of every route. The tests are generated from the route table, so that new routes
 * are covered automatically.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { routes } from '../../src/http/routes.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { fill, parametersOf, pathValues } from '../support/api-paths.ts';
import { keyRoutes, publicRoutes, sessionOnlyRoutes } from '../support/api-routes.ts';
import { endpoints } from '../support/api-table.ts';
import { type BadKey, type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;
let values: ReturnType<typeof pathValues>;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address);
  values = pathValues(tenants);
});
afterAll(() => service.stop());

test('the routes contain the twenty endpoints of the specification with exactly their permissions', () => {
  const specified = endpoints.map(({ method, path, permission, status }) => ({ method, path, permission, status }));
  const found = routes.map(({ method, path, permission, status }) => ({ method, path, permission, status }));
  expect(found).toEqual(expect.arrayContaining(specified));
  expect(new Set(endpoints.map(endpoint => endpoint.number)).size).toBe(20);
});

test('no two routes share an id, or a method and path', () => {
  const names = routes.flatMap(({ id, method, path }) => [id, `${method} ${path}`]);
  expect(names.length).toBe(new Set(names).size);
});

/** Returns a JSON string of this many bytes. */
const stringOf = (bytes: number) =>
  Buffer.alloc(bytes, 'x')
    .fill('"', 0, 1)
    .fill('"', bytes - 1);

const known = new Map(endpoints.map(endpoint => [`${endpoint.method} ${endpoint.path}`, endpoint]));

type KeyRoute = (typeof keyRoutes)[number];
const titled = (list: KeyRoute[]) => list.map(route => ({ ...route, title: `${route.method} ${route.path}` }));

/** Returns how requests to a route are sent. */
function requestsTo(route: KeyRoute) {
  const { method, path } = route;
  const parameters = parametersOf(path);
  const takesBody = route.body !== undefined && !route.consumes;
  const body = () => known.get(`${method} ${path}`)?.body?.() ?? (takesBody ? {} : route.consumes && 'email\n');
  // A tag that never matches keeps what is deleted for the next request.
  const usual: Record<string, string> = {
    ...(route.consumes && { 'content-type': route.consumes }),
    ...(method === 'DELETE' && { 'if-match': '"something else"' }),
  };
  const send = (key: string | undefined, at = fill(path, values), more: Partial<Parameters<Ask>[0]> = {}) =>
    ask({
      method,
      path: method === 'DELETE' ? `${at}?dry_run=true` : at,
      key,
      body: body(),
      ...more,
      headers: { ...usual, ...more.headers },
    });
  const nowhere = () =>
    Object.fromEntries(parameters.map(name => [name, name === 'pk' || name === 'id' ? '999999999' : 'nowhere']));
  const expectRefused = async (keys: BadKey[]) => {
    for (const { what, authorization, code } of keys) {
      const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
      const answer = await send(undefined, fill(path, values), { headers });
      expect.soft([what, answer.status, answer.body?.code]).toEqual([what, 401, code]);
      expectProblem(answer, 401);
      expect(answer.headers['www-authenticate']).toBe('Key');
    }
  };
  return { parameters, takesBody, maxBytes: route.bodyLimit ?? 1024 * 1024, send, nowhere, expectRefused };
}

/**
 * The server treats all routes of one form alike: `npm test` asks those of the specification and one of each other form, the sweep all
 * of them.
 */
const formOf = ({ method, path, body, consumes, bodyLimit }: KeyRoute) =>
  [method, body !== undefined, consumes, bodyLimit, parametersOf(path).length > 0].join();
const specified = keyRoutes.filter(({ method, path }) => known.has(`${method} ${path}`));
const examples = [
  ...new Set([...specified, ...new Map(keyRoutes.toReversed().map(route => [formOf(route), route])).values()]),
];
const others = keyRoutes.filter(route => !examples.includes(route));

describe.each(titled(examples))('$title', checkRoute);
describe.each(titled(others))('$title, like every route,', { tags: ['sweep'] }, checkRoute);

function checkRoute(route: KeyRoute): void {
  const { method, path, permission } = route;
  const { parameters, takesBody, maxBytes, send, nowhere, expectRefused } = requestsTo(route);

  test('answers 401 before any other error', async () => {
    expectProblem(await send(undefined, fill(path, values, nowhere()), { body: '{' }), 401, 'key.missing');
  });

  test('answers 403 to a key with every other permission, whether or not the path exists', async () => {
    const key = tenants.acme.keys.without[permission];
    expectProblem(await send(key), 403, 'key.permission');
    expectProblem(await send(key, fill(path, values, nowhere())), 403, 'key.permission');
    expectProblem(await send(key, undefined, { headers: { 'content-type': 'text/csv' } }), 403, 'key.permission');
  });

  test('accepts a key with only its permission', async () => {
    const { status, text } = await send(tenants.acme.keys.only[permission]);
    expect([401, 403, 404, 405, 500], text).not.toContain(status);
  });

  test('answers 404 for a missing resource in the path, before it checks the body', async () => {
    for (const name of parameters) {
      const { elsewhere, code } = values[name]!;
      for (const value of ['nowhere', ...elsewhere]) {
        const at = fill(path, values, { [name]: value });
        const answer = await send(tenants.acme.keys.all, at, takesBody ? { body: '{"nonsense":' } : {});
        expectProblem(answer, 404, code);
      }
    }
  });

  if (parameters.length > 0) {
    test('does not exist for a key of another organization', async () => {
      expectProblem(await send(tenants.rival.keys.all), 404, 'organization.not_found');
      expectProblem(await send(tenants.rival.keys.onProject), 404, 'organization.not_found');
    });
  }

  if (parameters.length > 0) {
    test('does not exist for a key with another scope', async () => {
      const { keys } = tenants.acme;
      expectProblem(await send(keys.onOtherProject), 404);
      expectProblem(await send(keys.onOtherProjectsApplication), 404);
      expectProblem(await send(keys.onOtherApplication), 404);
      if (!parameters.includes('app')) expectProblem(await send(keys.onApplication), 404);
      if (!parameters.includes('prj')) expectProblem(await send(keys.onProject), 404, 'organization.not_found');
    });
  }

  test('exists for a key whose scope includes it', async () => {
    const { keys } = tenants.acme;
    if (parameters.length === 0 || parameters.includes('prj'))
      expect((await send(keys.onProject)).status).not.toBe(404);
    if (parameters.length === 0 || parameters.includes('app')) {
      expect((await send(keys.onApplication)).status).not.toBe(404);
    }
  });

  test('answers 401 with WWW-Authenticate to every invalid key', async () => {
    await expectRefused(tenants.badKeys);
  });

  test('answers 404 for a strange value in the path', async () => {
    for (const name of parameters) {
      const { code } = values[name]!;
      for (const value of ['0', '-1', '1e3', '99999999999999999999', 'a\0b']) {
        const at = fill(path, values, { [name]: value });
        const answer = await send(tenants.acme.keys.all, at, takesBody ? { body: '{"nonsense":' } : {});
        expectProblem(answer, 404, value.includes('\0') ? 'path.not_found' : code);
      }
    }
  });

  test('accepts the key as Bearer, in any letter case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'KEY']) {
      const headers = { authorization: `${scheme} ${tenants.acme.keys.all}` };
      expect([401, 403, 404, 500]).not.toContain((await send(undefined, undefined, { headers })).status);
    }
  });

  test('answers the same without the trailing slash, never with a redirect', async () => {
    const key = tenants.acme.keys.all;
    const [slashed, bare] = [await send(key), await send(key, fill(path, values).slice(0, -1))];
    expect(bare.status).toBe(slashed.status);
    expect(bare.status).not.toBeOneOf([301, 302, 303, 307, 308, 404]);
  });

  if (takesBody && parameters.length > 0) {
    test('answers 404 before 415 and 413', async () => {
      const at = fill(path, values, nowhere());
      const key = tenants.acme.keys.all;
      expectProblem(await send(key, at, { headers: { 'content-type': 'text/csv' } }), 404);
      expectProblem(await send(key, at, { body: stringOf(maxBytes + 1) }), 404);
    });
  }

  if (takesBody) {
    test('answers 415 to a body that is not JSON, and 413 to one that is too large', async () => {
      const key = tenants.acme.keys.all;
      for (const type of ['text/plain', 'text/csv', 'application/xml', 'application/x-www-form-urlencoded', 'json']) {
        expectProblem(await send(key, undefined, { headers: { 'content-type': type } }), 415, 'request.media_type');
      }
      expectProblem(await send(key, undefined, { body: stringOf(maxBytes) }), 400, 'request.invalid');
      expectProblem(await send(key, undefined, { body: stringOf(maxBytes + 1) }), 413, 'request.too_large');
    });
  }

  if (takesBody) {
    test('answers 400 to a malformed body', async () => {
      for (const bad of ['{', '{"a":1,}', "{'a':1}", 'hello', '{"a":1} x', '{"__proto__":{}}', '{"a":\u00011}']) {
        expectProblem(await send(tenants.acme.keys.all, undefined, { body: bad }), 400, 'request.malformed');
      }
    });
  }

  test('answers 405 with Allow to other methods, with or without a key', async () => {
    const taken = routes.filter(other => other.path === path).map(other => other.method as string);
    const allow = [...taken, ...(taken.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE'];
    for (const other of others.filter(name => !allow.includes(name))) {
      for (const at of [fill(path, values), fill(path, values).slice(0, -1)]) {
        const answer = await ask({ method: other, path: at });
        expect([other, answer.status]).toEqual([other, 405]);
        expect(answer.headers.allow?.split(', ').sort()).toEqual(allow.toSorted());
        if (other !== 'HEAD') expectProblem(answer, 405, 'request.method');
      }
    }
  });

  test('answers OPTIONS with its methods', async () => {
    const answer = await ask({ method: 'OPTIONS', path: fill(path, values) });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.allow?.split(', ')).toContain(method);
  });

  if (method === 'GET') {
    test('answers HEAD as GET, without the body', async () => {
      const key = tenants.acme.keys.only[permission];
      const [get, head] = [await send(key), await send(key, undefined, { method: 'HEAD' })];
      expect([head.status, head.text]).toEqual([get.status, '']);
      for (const name of ['content-type', 'content-length']) expect(head.headers[name]).toBe(get.headers[name]);
      expect((await send(undefined, undefined, { method: 'HEAD' })).status).toBe(401);
      const refused = await send(tenants.acme.keys.without[permission], undefined, { method: 'HEAD' });
      expect(refused.status).toBe(403);
    });
  }
}

describe.each(sessionOnlyRoutes.map(route => ({ ...route, title: `${route.method} ${route.path}` })))(
  '$title, which requires an account,',
  ({ method, path, permission, body }) => {
    const send = (key: string | undefined, headers = {}) =>
      ask({ method, path: fill(path, values), key, headers, body: body && {} });

    test('answers 401 without a session, even to a key with all permissions', async () => {
      const toNobody = permission === 'account' ? 'session.missing' : 'key.missing';
      expectProblem(await send(undefined), 401, toNobody);
      if (permission === 'account') expectProblem(await send(tenants.acme.keys.all), 401, 'session.missing');
      else expectProblem(await send(tenants.acme.keys.all), 403, 'key.permission');
    });

    test('answers 401 to an invalid cookie', async () => {
      for (const token of ['', 'x', 'x'.repeat(43), 'x'.repeat(5_000)]) {
        expectProblem(await send(undefined, { cookie: `belfry_session=${token}` }), 401);
      }
    });
  },
);

describe.each(publicRoutes.map(route => ({ ...route, title: `${route.method} ${route.path}` })))(
  '$title, which is public,',
  ({ method, path, body }) => {
    test('neither requires nor checks a key', async () => {
      for (const headers of [{}, { authorization: 'Key nonsense' }] as Record<string, string>[]) {
        const answer = await ask({ method, path: fill(path, values), headers, body: body && { nonsense: 1 } });
        expect([401, 403, 500]).not.toContain(answer.status);
      }
    });
  },
);

describe('an unknown path', () => {
  test.each(['/api/', '/api', '/api/o/acme/x/', '/api/system/', '/api/o/acme/u/jane@acme.test/x/'])(
    '%s answers 404, key or no key',
    async path => {
      for (const key of [undefined, tenants.acme.keys.all]) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          expectProblem(await ask({ method, path, key }), 404, 'path.not_found');
        }
      }
    },
  );

  test('answers 400 if it is malformed', async () => {
    for (const path of ['/api/o/%/', '/api/o/%zz/u/', '/api/o/acme/u/%C3%28/', '/api/o/%ED%A0%80/']) {
      expectProblem(await ask({ path, key: tenants.acme.keys.all }), 400, 'request.malformed');
    }
  });
});
