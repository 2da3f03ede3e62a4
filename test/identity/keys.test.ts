/** Keys: their format, what is stored, and how soon a change takes effect in a process that has cached them. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { generateKey, parseKey } from '../../src/core/identity/keys.ts';
import { type Db, openDatabase } from '../../src/db/connection/pool.ts';
import { createKey, type KeyInput } from '../../src/services/identity/keys.ts';
import { ask, expectProblem } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';
import { buildTenants, keyChecksum, type Tenants } from '../support/tenants.ts';

let database: TestDatabase;
/** Two services on one database: a change in one must take effect in the other. Real processes: processes.test.ts. */
let here: Service;
let there: Service;
let tenants: Tenants;

beforeAll(async () => {
  database = await createTestDatabase();
  here = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  there = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  tenants = await buildTenants(here.runtime.deps);
});
afterAll(async () => {
  await Promise.all([here.stop(), there.stop()]);
  await database.drop();
});

let count = 0;
const newKey = (input: Partial<KeyInput> = {}) =>
  createKey(here.runtime.deps, 'acme', { name: `key ${++count}`, permissions: ['*'], ...input });
const ping = (service: Service, key: string) => ask(service.address, { path: '/api/system/ping/', key });
const organization = (service: Service, key: string) => ask(service.address, { path: '/api/o/acme/', key });

/** Returns the statements sent to our database while `work` runs, without the listener's heartbeat and what opens a connection. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  try {
    await work();
    const own = spy.mock.calls.filter((_, i) => (spy.mock.contexts[i] as pg.Client).database === database.name);
    const texts = own.map(([query]) => {
      const asked = query as unknown as string | { text: string; name?: string };
      return typeof asked === 'string' ? asked : (asked.name ?? asked.text);
    });
    return texts.filter(text => text !== 'select 1' && !text.startsWith('select pg_is_in_recovery()'));
  } finally {
    spy.mockRestore();
  }
}

describe('a key', () => {
  test('consists of bf_, an id of 12 characters, and a secret of 38 whose last six are a checksum', () => {
    const { key, id } = generateKey();
    const [, shown, random, sum] = /^bf_([0-9A-Za-z]{12})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/.exec(key) ?? [];
    expect([shown, sum]).toEqual([id, keyChecksum(id, random!)]);
  });

  test('is different every time', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => generateKey().key)).size).toBe(1_000);
  });

  test('with one character changed, removed or added is not valid', () => {
    const { key } = generateKey();
    expect(parseKey(key)).toBeDefined();
    const sign = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_- ');
    fc.assert(
      fc.property(fc.nat(key.length - 1), sign, fc.nat(2), (at, other, cut) => {
        const changed = key.slice(0, at) + other + key.slice(at + cut);
        return changed === key || parseKey(changed) === undefined;
      }),
    );
  });

  test('is stored only as its id and the SHA-256 of its secret', async () => {
    const { id, key } = await newKey();
    const secret = key.slice(`bf_${id}_`.length);
    const [row] = await runSql<{ text: string; secret_hash: Buffer }>(
      database.url,
      'select k::text as text, secret_hash from keys k where id = $1',
      [id],
    );
    expect(row!.text).not.toContain(secret);
    expect(row!.text).not.toContain(secret.slice(0, 16));
    expect(row!.secret_hash).toEqual(createHash('sha256').update(secret).digest());
  });

  test('has a name that is unique within its organization', async () => {
    await newKey({ name: 'twin' });
    await expect(newKey({ name: 'twin' })).rejects.toMatchObject({ code: 'resource.exists' });
    await createKey(here.runtime.deps, 'rival', { name: 'twin', permissions: ['*'] });
  });

  test('cannot grant more than it has', async () => {
    const { key } = await newKey({ permissions: ['key:write', 'user:read'] });
    const create = (permissions: string[]) =>
      ask(here.address, {
        method: 'POST',
        path: '/api/o/acme/k/',
        key,
        body: { name: `given ${++count}`, permissions },
      });
    expect((await create(['user:read'])).status).toBe(201);
    for (const beyond of [['*'], ['user:write'], ['user:read', 'user:write']]) {
      expectProblem(await create(beyond), 400, 'request.invalid', ['permissions']);
    }
  });

  test('is not created when the project or application to limit it to does not exist', async () => {
    const create = (narrowed: object) => {
      const body = { name: `narrow ${++count}`, permissions: ['user:read'], ...narrowed };
      return ask(here.address, { method: 'POST', path: '/api/o/acme/k/', key: tenants.acme.keys.all, body });
    };
    expectProblem(await create({ project: '' }), 400, 'request.invalid', ['project']);
    expectProblem(await create({ project: 'nowhere' }), 400, 'request.invalid', ['project']);
    expectProblem(await create({ project: 'shop', application: '' }), 400, 'request.invalid', ['application']);
    expectProblem(await create({ project: 'shop', application: 'forklift' }), 400, 'request.invalid', ['application']);
    expectProblem(await create({ application: 'web' }), 400, 'request.invalid', ['application']);
  });

  test('is refused without a query when its checksum is wrong', async () => {
    const { key } = generateKey();
    const mistyped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a');
    expect(await statementsOf(async () => expect((await ping(here, mistyped)).status).toBe(401))).toEqual([]);
  });

  test('is refused from the moment it expires, cached or not', async () => {
    const { key } = await newKey({ expires_at: new Date(Date.now() + 1_000) });
    expect((await ping(here, key)).status).toBe(200);
    const answer = await eventually(async () => {
      const refused = await ping(here, key);
      expect(refused.status).toBe(401);
      return refused;
    }, 3_000);
    expectProblem(answer, 401, 'key.expired');
  });

  test('has its last use written when the process stops', async () => {
    const { id, key } = await newKey();
    const service = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
    const began = Date.now();
    await ping(service, key);
    await service.stop();
    const [row] = await runSql<{ last_used_at: Date }>(database.url, 'select last_used_at from keys where id = $1', [
      id,
    ]);
    expect(row!.last_used_at.getTime()).toBeGreaterThanOrEqual(began);
  });

  test('keeps the later of two last uses that processes write', async () => {
    const { id } = await newKey();
    const { keyUse, db } = here.runtime.deps;
    for (const at of [2_000_000, 1_000_000]) {
      keyUse.note(id, at);
      await keyUse.flush(db);
    }
    const [row] = await runSql<{ last_used_at: Date }>(database.url, 'select last_used_at from keys where id = $1', [
      id,
    ]);
    expect(row!.last_used_at).toEqual(new Date(2_000_000));
  });

  test('keeps a last use that could not be written, and writes it the next time', async () => {
    const { id } = await newKey();
    const { keyUse, db } = here.runtime.deps;
    keyUse.note(id, 3_000_000);
    await expect(keyUse.flush(await closedDatabase())).rejects.toThrow();
    await keyUse.flush(db);
    const [row] = await runSql<{ last_used_at: Date }>(database.url, 'select last_used_at from keys where id = $1', [
      id,
    ]);
    expect(row!.last_used_at).toEqual(new Date(3_000_000));
  });

  test('keeps a use that is recorded while the previous one is being written', async () => {
    const { id } = await newKey();
    const { keyUse, db } = here.runtime.deps;
    keyUse.note(id, 4_000_000);
    const writing = keyUse.flush(db);
    keyUse.note(id, 5_000_000);
    await writing;
    await keyUse.flush(db);
    const [row] = await runSql<{ last_used_at: Date }>(database.url, 'select last_used_at from keys where id = $1', [
      id,
    ]);
    expect(row!.last_used_at).toEqual(new Date(5_000_000));
  });
});

/** Returns a database whose statements all fail. */
async function closedDatabase(): Promise<Db> {
  const closed = openDatabase({ url: database.url, name: 'closed' });
  await closed.close();
  return closed.db;
}

describe('a cached key', () => {
  test('is not queried again', async () => {
    const { key } = await newKey();
    const request = async () => {
      for (const service of [here, there]) {
        expect((await ping(service, key)).status).toBe(200);
        expect((await organization(service, key)).status).toBe(200);
        expect((await ask(service.address, { path: '/api/o/acme/p/shop/', key })).status).toBe(200);
      }
    };
    // The notification about the new key may still be in transit when it is first used.
    await eventually(async () => expect(await statementsOf(request)).toEqual([]));
    // Maintenance may run statements meanwhile, the more often the busier the machine, but none for each request.
    const seen = new Map<string, number>();
    for (let i = 0; i < 10; i++)
      for (const name of new Set(await statementsOf(request))) seen.set(name, (seen.get(name) ?? 0) + 1);
    expect([...seen].filter(([, times]) => times > 5)).toEqual([]);
  });

  test('costs a trigger one statement', async () => {
    const path = '/api/o/acme/p/shop/a/web/e/order-paid/trigger/';
    const { all: key } = tenants.acme.keys;
    const trigger = async () => {
      const body = { context: { a: 1 }, options: { channels: ['mail'] } };
      expect((await ask(here.address, { method: 'POST', path, key, body })).status).toBe(201);
    };
    await eventually(async () => expect(await statementsOf(trigger)).toEqual(['store_occurrences']));
  });
});

test('the service that revokes a key refuses it at once, however late the announcement is', async () => {
  const { id, key } = await newKey();
  expect((await ping(here, key)).status).toBe(200);
  const announcements = vi.spyOn(here.runtime.deps.tenantCache, 'handleAnnouncement').mockReturnValue();
  try {
    await ask(here.address, {
      method: 'POST',
      path: '/api/o/acme/k/revoke/',
      key: tenants.acme.keys.all,
      body: { key: id },
    });
    expectProblem(await ping(here, key), 401, 'key.revoked');
  } finally {
    announcements.mockRestore();
  }
});

describe('within a second, another service notices', () => {
  const withinASecond = (check: () => Promise<unknown>) => eventually(check, 1_000);

  /** Both services have cached the key before it changes. */
  async function knownKey(): Promise<{ id: string; key: string }> {
    const made = await newKey();
    for (const service of [here, there]) expect((await ping(service, made.key)).status).toBe(200);
    return made;
  }

  test('that a key is revoked', async () => {
    const { id, key } = await knownKey();
    const path = '/api/o/acme/k/revoke/';
    await ask(here.address, { method: 'POST', path, key: tenants.acme.keys.all, body: { key: id } });
    await withinASecond(async () => expectProblem(await ping(there, key), 401, 'key.revoked'));
  });

  test('that a key is revoked, deleted or limited in the database', async () => {
    const changes: [statement: string, status: number][] = [
      ['update keys set revoked_at = now() where id = $1', 401],
      ['delete from keys where id = $1', 401],
      ["update keys set permissions = '{user:read}' where id = $1", 403],
      ['update keys set expires_at = now() where id = $1', 401],
    ];
    for (const [statement, status] of changes) {
      const { id, key } = await knownKey();
      await runSql(database.url, statement, [id]);
      await withinASecond(async () => {
        for (const service of [here, there])
          expect([statement, (await ping(service, key)).status]).toEqual([statement, status]);
      });
    }
  });

  test('that an event is deleted and created again', async () => {
    const path = '/api/o/acme/p/shop/a/web/e/flicker/trigger/';
    const trigger = () => ask(there.address, { method: 'POST', path, key: tenants.acme.keys.all, body: {} });
    for (let round = 0; round < 3; round++) {
      await runSql(
        database.url,
        "insert into events (organization_id, application_id, slug, name) values ($1, $2, 'flicker', 'Flicker')",
        [tenants.acme.id, tenants.acme.applicationId],
      );
      await withinASecond(async () => expect((await trigger()).status).toBe(201));
      await runSql(database.url, "update events set active = false where slug = 'flicker'");
      await withinASecond(async () => expectProblem(await trigger(), 400, 'event.inactive'));
      await runSql(database.url, "delete from events where slug = 'flicker'");
      await withinASecond(async () => expectProblem(await trigger(), 404, 'event.not_found'));
    }
  });

  test('that an organization is renamed', async () => {
    await organization(there, tenants.acme.keys.all);
    await runSql(database.url, "update organizations set name = 'Renamed' where slug = 'acme'");
    await withinASecond(async () => {
      expect((await organization(there, tenants.acme.keys.all)).body.name).toBe('Renamed');
    });
  });
});

describe('a process whose listener is disconnected', () => {
  const cut = () =>
    runSql(
      database.url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'belfry listener'`,
    );
  const listening = (expected: boolean) =>
    eventually(() => expect(here.runtime.deps.tenantCache.isConnected).toBe(expected), 10_000);

  test('ignores its cache, so that changes take effect while it is disconnected and afterwards', async () => {
    const { id, key } = await newKey();
    const other = await newKey();
    for (const known of [key, other.key]) expect((await ping(here, known)).status).toBe(200);
    await cut();
    await listening(false);
    await runSql(database.url, 'update keys set revoked_at = now() where id = $1', [id]);
    expectProblem(await ping(here, key), 401, 'key.revoked');
    expect((await ping(here, other.key)).status).toBe(200);
    await runSql(database.url, 'update keys set revoked_at = now() where id = $1', [other.id]);
    expectProblem(await ping(here, other.key), 401, 'key.revoked');
    await listening(true);
    expectProblem(await ping(here, key), 401, 'key.revoked');
  });

  test('does not use entries from before the disconnection after it has reconnected', async () => {
    const { id, key } = await newKey();
    expect((await ping(here, key)).status).toBe(200);
    await cut();
    await listening(false);
    await runSql(database.url, 'update keys set revoked_at = now() where id = $1', [id]);
    await listening(true);
    expectProblem(await ping(here, key), 401, 'key.revoked');
  });

  test('caches again after it has reconnected', async () => {
    await cut();
    await listening(false);
    await listening(true);
    const { key } = await newKey();
    const request = async () => expect((await organization(here, key)).status).toBe(200);
    await eventually(async () => expect(await statementsOf(request)).toEqual([]));
  });
});
