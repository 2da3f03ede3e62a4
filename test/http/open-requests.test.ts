/** Streams, lists, files, uploads and imports end within two seconds of the end of what allowed them. */
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Role } from '../../src/core/identity/roles.ts';
import { createKey } from '../../src/services/identity/keys.ts';
import { type Browser, signInNewAccount } from '../support/accounts.ts';
import { asker, expectProblem } from '../support/api.ts';
import { EventStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
let tenant: Tenant;
let count = 0;
const ann = 'ann@x.test';
/** Two seconds, and what a busy machine may add to them. */
const withinMs = 5_000;
const open: { close(): void }[] = [];

beforeAll(async () => {
  world = await openWorld({ BELFRY_ROLE: 'api', TRUST_PROXY: '127.0.0.1' });
  tenant = await world.tenant({ users: [ann, 'ben@x.test', 'cid@x.test', 'dan@x.test'] });
});
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});
afterAll(() => world.close());

const deps = () => world.service.runtime.deps;
const org = () => `/api/o/${tenant.slug}/`;
const newKey = (fields: Partial<Parameters<typeof createKey>[2]> = {}) =>
  createKey(deps(), tenant.slug, { name: `key ${++count}`, permissions: ['*'], ...fields });
const member = (role: Role) =>
  signInNewAccount(world.service.address, deps(), { membership: { organization: tenant.slug, role } });
const revoke = (key: string) => tenant.post(`${org()}k/revoke/`, { key });
const patchKey = (id: string, body: object) => tenant.ask({ method: 'PATCH', path: `${org()}k/${id}/`, body });
const tokenOf = async (as: Pick<Browser, 'ask'>, username = ann, expires_in = '1h'): Promise<string> => {
  const answer = await as.ask({ method: 'POST', path: `${org()}u/${username}/token/`, body: { expires_in } });
  expect(answer.status, answer.text).toBe(201);
  return answer.body.token;
};
const withKey = (key: string) => ({ ask: asker(world.service.address, key) });

/** Opens a stream and waits for its first event. */
async function stream(headers: Record<string, string>, username = ann): Promise<EventStream> {
  const opened = await EventStream.open(world.service.address, `${org()}u/${username}/inbox/stream/`, headers);
  open.push(opened);
  expect(opened.status, opened.body).toBe(200);
  await opened.until(events => events.length > 0);
  return opened;
}

const hasEnded = (one: { isOver: boolean }) => eventually(() => expect(one.isOver).toBe(true), withinMs);

/** Each opens a stream, and returns what ends it. Those that end by time come last. */
const ends: Record<string, () => Promise<{ opened: EventStream; end: () => Promise<unknown> }>> = {
  'its key is revoked': async () => {
    const { id, key } = await newKey();
    return { opened: await stream({ authorization: `Key ${key}` }), end: () => revoke(id) };
  },
  'its key is given an earlier expiry': async () => {
    const { id, key } = await newKey();
    const expires_at = new Date(Date.now() + 1_000).toISOString();
    return { opened: await stream({ authorization: `Key ${key}` }), end: () => patchKey(id, { expires_at }) };
  },
  'its key is limited to other networks': async () => {
    const { id, key } = await newKey();
    const end = () => patchKey(id, { allowed_networks: ['192.0.2.0/24'] });
    return { opened: await stream({ authorization: `Key ${key}` }), end };
  },
  'its account signs out': async () => {
    const browser = await member('viewer');
    const end = () => browser.ask({ method: 'DELETE', path: '/api/session/' });
    return { opened: await stream({ cookie: browser.cookie }, 'dan@x.test'), end };
  },
  'its account is removed from the organization': async () => {
    const browser = await member('viewer');
    const end = () => tenant.ask({ method: 'DELETE', path: `${org()}account/${browser.id}/` });
    return { opened: await stream({ cookie: browser.cookie }, 'dan@x.test'), end };
  },
  'its account is deleted': async () => {
    const browser = await member('viewer');
    const end = () => tenant.sql('delete from accounts where id = $1', browser.id);
    return { opened: await stream({ cookie: browser.cookie }, 'dan@x.test'), end };
  },
  'its session is ended elsewhere': async () => {
    const browser = await member('viewer');
    const end = () => tenant.sql('delete from sessions where account_id = $1', browser.id);
    return { opened: await stream({ cookie: browser.cookie }, 'dan@x.test'), end };
  },
  'its token is revoked': async () => {
    const opened = await stream({ authorization: `Bearer ${await tokenOf(tenant, 'ben@x.test')}` }, 'ben@x.test');
    return { opened, end: () => tenant.ask({ method: 'DELETE', path: `${org()}u/ben@x.test/token/` }) };
  },
  'the key of its token is revoked': async () => {
    const { id, key } = await newKey({ permissions: ['token:write'] });
    const opened = await stream({ authorization: `Bearer ${await tokenOf(withKey(key))}` });
    return { opened, end: () => revoke(id) };
  },
  'the account that created its token signs out': async () => {
    const browser = await member('editor');
    const opened = await stream({ authorization: `Bearer ${await tokenOf(browser)}` });
    return { opened, end: () => browser.ask({ method: 'DELETE', path: '/api/session/' }) };
  },
  'the role of the account that created its token is lowered': async () => {
    const browser = await member('editor');
    const opened = await stream({ authorization: `Bearer ${await tokenOf(browser)}` });
    const end = () => tenant.ask({ method: 'PATCH', path: `${org()}account/${browser.id}/`, body: { role: 'viewer' } });
    return { opened, end };
  },
  'its user is locked': async () => {
    await tenant.post(`${org()}u/`, { email: 'locked@x.test' });
    const token = await tokenOf(tenant, 'locked@x.test');
    const opened = await stream({ authorization: `Bearer ${token}` }, 'locked@x.test');
    const end = () => tenant.ask({ method: 'PATCH', path: `${org()}u/locked@x.test/`, body: { locked: true } });
    return { opened, end };
  },
  'its user is deleted': async () => {
    await tenant.post(`${org()}u/`, { email: 'gone@x.test' });
    const { key } = await newKey();
    const opened = await stream({ authorization: `Key ${key}` }, 'gone@x.test');
    return { opened, end: () => tenant.ask({ method: 'DELETE', path: `${org()}u/gone@x.test/` }) };
  },
  'its key expires': async () => {
    const { key } = await newKey({ expires_at: new Date(Date.now() + 3_000) });
    return { opened: await stream({ authorization: `Key ${key}` }), end: async () => {} };
  },
  'its token expires': async () => {
    const token = await tokenOf(tenant, ann, '3s');
    return { opened: await stream({ authorization: `Bearer ${token}` }), end: async () => {} };
  },
};

test('a stream ends with what allowed it, and no other one does', { tags: ['sweep'] }, async () => {
  const kept = await stream({ authorization: `Bearer ${await tokenOf(tenant, 'cid@x.test')}` }, 'cid@x.test');
  const opened: [string, Awaited<ReturnType<(typeof ends)[string]>>][] = [];
  for (const [name, openOne] of Object.entries(ends)) opened.push([name, await openOne()]);
  const results = await Promise.all(
    opened.map(async ([name, { opened: one, end }]) => {
      await end();
      return hasEnded(one).then(
        () => [],
        () => `${name}: still open`,
      );
    }),
  );
  expect(results.flat()).toEqual([]);
  expect(kept.isOver).toBe(false);
});

test('a stream ends when its organization has moved to another cell', async () => {
  const moved = await world.tenant({ users: [ann] });
  const path = `/api/o/${moved.slug}/u/${ann}/inbox/stream/`;
  const { key } = await createKey(deps(), moved.slug, { name: 'stream', permissions: ['inbox:read'] });
  const opened = await EventStream.open(world.service.address, path, { authorization: `Key ${key}` });
  open.push(opened);
  await moved.sql(
    `insert into organization_moves (organization_id, id, slug, state, url)
      values ($1, gen_random_uuid(), $2, 'moved', 'https://other.test')`,
    moved.id,
    moved.slug,
  );
  await hasEnded(opened);
});

/** A request whose response is not read, or whose body is not sent completely. */
class SlowRequest {
  isOver = false;
  readonly #request: ClientRequest;
  response: IncomingMessage | undefined;

  constructor(path: string, headers: Record<string, string>, body?: { type: string; sent: string; length: number }) {
    const { hostname, port } = new URL(world.service.address);
    const more = body && { 'content-type': body.type, 'content-length': String(body.length) };
    const method = body ? 'POST' : 'GET';
    this.#request = request({ hostname, port, path, method, headers: { ...headers, ...more }, agent: false });
    this.#request.on('response', response => {
      this.response = response.on('error', () => {}).pause();
    });
    this.#request.on('error', () => {});
    this.#request.on('close', () => {
      this.isOver = true;
    });
    this.#request.flushHeaders();
    if (body) this.#request.write(body.sent);
    else this.#request.end();
    open.push(this);
  }

  close(): void {
    this.#request.destroy();
  }
}

test('an upload that is still being sent ends with its key', async () => {
  const { id, key } = await newKey();
  const path = `${tenant.application}attachments/`;
  const body = { type: 'application/pdf', sent: '%PDF', length: 1_000_000 };
  const upload = new SlowRequest(path, { authorization: `Key ${key}` }, body);
  const kept = new SlowRequest(path, { authorization: `Key ${(await newKey()).key}` }, body);
  // The upload is known to the server once its key was used.
  await eventually(async () => {
    await deps().keyUse.flush(deps().db);
    expect((await tenant.ask({ path: `${org()}k/${id}/` })).body.last_used_at).not.toBeNull();
  });
  await revoke(id);
  await hasEnded(upload);
  expect(kept.isOver).toBe(false);
});

test('an export that is being read ends with the role, before it is complete', { tags: ['sweep'] }, async () => {
  // More than fits into the buffers on the way.
  await tenant.sql(
    `insert into audit (organization_id, action, noun, path, actor_kind, actor_name, after)
      select $1, 'update', 'event', 'shop', 'command', 'test', jsonb_build_object('x', repeat(md5(n::text), 60))
      from generate_series(1, 12000) n`,
    tenant.id,
  );
  const browser = await member('admin');
  const slow = new SlowRequest(`${org()}audit/export/`, { cookie: browser.cookie });
  const kept = new SlowRequest(`${org()}audit/export/`, { authorization: `Key ${(await newKey()).key}` });
  await eventually(() => expect([slow.response?.statusCode, kept.response?.statusCode]).toEqual([200, 200]));
  await tenant.ask({ method: 'PATCH', path: `${org()}account/${browser.id}/`, body: { role: 'viewer' } });
  // Reads slowly: all of it takes several times as long as the server needs to notice.
  await eventually(() => {
    for (let i = 0; i < 4; i++) slow.response!.read(16_384);
    expect([slow.response!.destroyed, slow.response!.complete]).toEqual([true, false]);
  }, 60_000);
  expect(kept.response!.destroyed).toBe(false);
});

test('an import that is under way when its key is revoked changes nothing', async () => {
  const { id, key } = await newKey();
  const list = (await tenant.post(`${org()}p/shop/d/`, { name: 'Imported' })).body.id;
  const [lock, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const blocking = deps()
    .db.transaction()
    .execute(async trx => {
      await trx.updateTable('users').set({ locale: 'en' }).where('username', '=', ann).execute();
      lock.resolve();
      await release.promise;
    });
  await lock.promise;
  const csv = `email,first_name\n${ann},Changed\nnew@x.test,New\n`;
  const body = { type: 'text/csv', sent: csv, length: csv.length };
  const importing = new SlowRequest(`${org()}p/shop/d/${list}/import/`, { authorization: `Key ${key}` }, body);
  await eventually(async () => {
    const [waiting] = await tenant.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    expect(waiting!.n).toBeGreaterThan(0);
  });
  try {
    await revoke(id);
    await hasEnded(importing);
  } finally {
    release.resolve();
    await blocking;
  }
  await eventually(async () => {
    const [waiting] = await tenant.sql<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid() and xact_start is not null`,
    );
    expect(waiting!.n).toBe(0);
  });
  expectProblem(await tenant.ask({ path: `${org()}u/new@x.test/` }), 404, 'user.not_found');
});

test('a request that revokes its own key is answered', async () => {
  for (let i = 0; i < 5; i++) {
    const { id, key } = await newKey();
    const answer = await withKey(key).ask({ method: 'POST', path: `${org()}k/revoke/`, body: { key: id } });
    expect(answer.status, answer.text).toBe(200);
  }
});
