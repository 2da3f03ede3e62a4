/**
 * Moves organizations between two cells: everything arrives, nothing is sent twice, and exactly one cell sends.
 *
 * @module-tag sweep
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { organizationTables } from '../../src/db/operations/organization-tables.ts';
import { sealCalendar } from '../../src/services/audience/on-call/calendars/secrets.ts';
import {
  abortMove,
  forgetOrganization,
  type MoveRequest,
  moveOrganization,
} from '../../src/services/operations/organization-moves.ts';
import { findUnreadableSecrets } from '../../src/services/operations/secrets.ts';
import { createTestDatabase, silent, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, hooks, openWorld, secret, type Tenant } from '../support/sink.ts';
import { runSql } from '../support/sql.ts';

const calendarUrl = 'https://calendar.acme.test/ann.ics';
const targetKey = 'another secret of at least 32 characters';

let world: EngineWorld;
let target: Service;
beforeAll(async () => {
  world = await openWorld();
  const { url } = await createTestDatabase();
  target = await startService(
    testConfig(url, {
      BELFRY_CELL: '2',
      BELFRY_SECRET_KEY: targetKey,
      BELFRY_SECRET_KEY_PREVIOUS: 'a secret of at least 32 characters',
    }),
    silent,
  );
});
afterAll(async () => {
  await target.stop();
  await world.close();
});

const requestFor = ({ slug }: Pick<Tenant, 'slug'>, onProgress: MoveRequest['onProgress'] = () => {}): MoveRequest => ({
  slug,
  sourceUrl: world.service.runtime.url,
  targetUrl: target.runtime.url,
  targetKey,
  url: target.address,
  onProgress,
});

const move = (tenant: Tenant, onProgress?: MoveRequest['onProgress']) =>
  moveOrganization(world.service.runtime.deps, requestFor(tenant, onProgress));

/** Returns the rows of each table as text, without what is encrypted with the key of the cell. */
async function readAll(url: string, { id }: Tenant): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const { name } of organizationTables) {
    const owner = name === 'organizations' ? 'id' : 'organization_id';
    const rows = await runSql<{ row: string }>(
      url,
      `select (to_jsonb(t) - 'secrets')::text as row from ${name} t where ${owner} = $1 order by 1`,
      [id],
    );
    tables[name] = rows.map(({ row }) => row);
  }
  return tables;
}

const stateOf = async (url: string, { id }: Tenant) =>
  (await runSql<{ state: string }>(url, 'select state from organization_moves where organization_id = $1', [id]))[0]
    ?.state;

/** A tenant with some of everything: history, waiting work of each kind, and people who work with it. */
async function fullTenant(): Promise<Tenant> {
  const inbox = { slug: 'app', name: 'App', type: 'inbox', providers: [{ use: 'inbox' }] };
  const tenant = await world.tenant({
    users: ['ann@x.test', { email: 'bob@x.test', locked: true }],
    channels: [{ slug: 'hooks' }, inbox],
    notifications: [{}, { channels: ['app'] }, { digest: { every: '1h' } }],
    organization: {
      categories: [{ slug: 'news', name: 'News', kind: 'promotional' }],
      webhooks: [{ slug: 'ops', name: 'Ops', url: `${world.peer.url}/ops`, types: ['delivery.sent'], secret }],
    },
  });
  const { ask, slug } = tenant;
  const user = `/api/o/${slug}/u/ann@x.test/`;
  const preferences = { preferences: [{ category: 'news', enabled: false }] };
  expect((await ask({ method: 'PATCH', path: `${user}preferences/`, body: preferences })).status).toBeLessThan(300);
  await ask({
    method: 'POST',
    path: `/api/o/${slug}/suppressions/`,
    body: { channel_type: 'email', target: 'fax@x.test' },
  });
  const application = `/api/o/${slug}/p/shop/a/web/`;
  const source = { slug: 'alerts', use: 'alertmanager', routes: [{ event: 'go' }] };
  const heartbeat = { slug: 'backup', every: '1d', event: 'go' };
  const watch = { slug: 'engine', event: 'go', every: '1h', enabled: false, url: 'https://watch.acme.test/1f2e' };
  for (const [path, body] of Object.entries({ sources: source, heartbeats: heartbeat, watches: watch })) {
    expect((await ask({ method: 'POST', path: `${application}${path}/`, body })).status, path).toBe(201);
  }
  const { deps, url } = world.service.runtime;
  const [ann] = (await tenant.sql<{ id: number }>(
    `select id::int from users where organization_id = $1 and username = 'ann@x.test'`,
    tenant.id,
  )) as [{ id: number }];
  await runSql(
    url,
    `insert into absence_calendars (organization_id, user_id, secrets, host, due_at, created_by)
     values ($1, $2, $3, 'calendar.acme.test', now() + interval '1 day', 'ann')`,
    [tenant.id, ann.id, sealCalendar(deps.cipher, tenant.id, ann.id, calendarUrl)],
  );
  await tenant.trigger({}, { n: 1 });
  await tenant.trigger({ delay: '1h' }, { n: 2 });
  await eventually(() => expect(tenant.received().length).toBeGreaterThan(0), 8_000);
  // Both messages that are not digested, so that nothing changes any more.
  await eventually(async () =>
    expect(await tenant.sql('select status from webhook_messages where organization_id = $1', tenant.id)).toEqual([
      { status: 'sent' },
      { status: 'sent' },
    ]),
  );
  return tenant;
}

describe('a move', () => {
  test('copies everything, gives the other cell what waits, and leaves an address behind', async () => {
    const tenant = await fullTenant();
    const { url } = world.service.runtime;
    await eventually(async () => {
      const open = await runSql(url, `select from deliveries where organization_id = $1 and status = 'sending'`, [
        tenant.id,
      ]);
      expect(open).toEqual([]);
    });
    const email = `owner@${tenant.slug}.test`;
    await runSql(
      url,
      `with a as (insert into accounts (email, password_hash, admin) values ($2, 'hash', true) returning id)
       insert into memberships (organization_id, account_id, role) select $1, id, 'owner' from a`,
      [tenant.id, email],
    );

    const streamPath = `/api/o/${tenant.slug}/u/ann@x.test/inbox/stream/`;
    const token = await tenant.ask({ method: 'POST', path: `/api/o/${tenant.slug}/u/ann@x.test/token/`, body: {} });
    const stream = await fetch(`${world.service.address}${streamPath}?token=${token.body.token}`);
    expect(stream.status).toBe(200);
    const linkPath = `/api/o/${tenant.slug}/u/ann@x.test/preferences/link/`;
    const link = new URL((await tenant.ask({ method: 'POST', path: linkPath, body: {} })).body.url);

    const { refusedMs } = await move(tenant);

    expect(await stream.text()).toContain('event:');
    expect(refusedMs).toBeGreaterThan(0);
    const before = await readAll(url, tenant);
    expect(await readAll(target.runtime.url, tenant)).toEqual(before);
    for (const name of ['users', 'inbox', 'preferences', 'digests', 'occurrences', 'deliveries', 'webhooks', 'audit']) {
      expect(before[name]!.length, name).toBeGreaterThan(0);
    }
    const tables = await runSql<{ name: string }>(
      url,
      `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'secrets'`,
    );
    for (const { name: table } of tables) {
      const sealed = await runSql<{ secrets: Buffer }>(
        target.runtime.url,
        `select secrets from ${table} where organization_id = $1 and secrets is not null`,
        [tenant.id],
      );
      const areCurrent = sealed.map(({ secrets }) => target.runtime.deps.cipher.isCurrent(secrets));
      expect(areCurrent, `${table} is encrypted with the key of the target`).toEqual([true]);
    }
    expect(await findUnreadableSecrets(target.runtime.deps)).toEqual([]);
    const members = await runSql(
      target.runtime.url,
      `select a.email, a.password_hash, a.admin, m.role from memberships m join accounts a on a.id = m.account_id
       where m.organization_id = $1`,
      [tenant.id],
    );
    expect(members).toEqual([{ email, password_hash: 'hash', admin: false, role: 'owner' }]);

    const moved = await tenant.ask({ path: `/api/o/${tenant.slug}/u/` });
    expect([moved.status, moved.headers.location]).toEqual([307, `${target.address}/api/o/${tenant.slug}/u/`]);
    const page = await fetch(link, { redirect: 'manual' });
    expect([page.status, page.headers.get('location')]).toEqual([307, target.address + link.pathname]);
    expect((await fetch(link)).status).toBe(200);
    const [channel] = await runSql<{ token: string }>(
      url,
      'select feedback_token as token from channels where organization_id = $1 limit 1',
      [tenant.id],
    );
    for (const posted of [`/feedback/${channel!.token}/postmark/`, `/interactions/${channel!.token}/slack/`]) {
      const answer = await fetch(world.service.address + posted, { method: 'POST', redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([307, target.address + posted]);
    }
    const received = tenant.received().length;
    await runSql(
      target.runtime.url,
      `update occurrences set due_at = now() where organization_id = $1 and status = 'accepted'`,
      [tenant.id],
    );
    await runSql(target.runtime.url, 'notify belfry_work');
    await eventually(() => expect(tenant.received()).toHaveLength(received + 1), 8_000);
    expect(tenant.received().at(-1)!.text).toContain('Hello 2');
  });

  test('that is interrupted at any step continues, and copies what changed meanwhile', async () => {
    const tenant = await fullTenant();
    const { url } = world.service.runtime;
    for (let step = 1, isDone = false; !isDone; step++) {
      let steps = 0;
      const interrupt = () => {
        if (++steps === step) throw new Error('interrupted');
      };
      isDone = await move(tenant, interrupt).then(
        () => true,
        error => {
          expect((error as Error).message).toBe('interrupted');
          return false;
        },
      );
      if (!isDone) await tenant.trigger({ delay: '1h' }, { n: step });
    }
    expect(await readAll(target.runtime.url, tenant)).toEqual(await readAll(url, tenant));
    expect([await stateOf(url, tenant), await stateOf(target.runtime.url, tenant)]).toEqual(['left', 'arrived']);
    const triggers = await runSql(url, `select from pg_trigger where tgname like 'moving_%'`);
    expect(triggers).toEqual([]);
  });

  test('waits for a message in flight, whose outcome moves along with what was triggered meanwhile', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    const url = `${world.peer.url}/${tenant.slug}/hook`;
    await tenant.apply({ users: ['ann@x.test'], channels: [hooks(url, {}, { timeout_ms: 1_500 })] });
    tenant.answer('hang');
    const first = await tenant.trigger({}, { n: 1 });
    await eventually(() => expect(tenant.received()).toHaveLength(1), 8_000);
    tenant.answer({});
    let late: Promise<string> | undefined;
    let copied: Promise<unknown[]> | undefined;
    await move(tenant, text => {
      if (!text.startsWith('Waiting')) return;
      late ??= tenant.trigger({}, { n: 2 });
      copied ??= runSql(target.runtime.url, 'select owner from deliveries where organization_id = $1', [tenant.id]);
    });
    const second = await late!;
    // A worker here may have the same id as the one that is sending it.
    expect(await copied).toEqual([{ owner: null }]);
    const outcomes = () =>
      runSql<{ occurrence_id: string; status: string; attempts: number }>(
        target.runtime.url,
        'select occurrence_id, status, attempts from deliveries where organization_id = $1 order by created_at',
        [tenant.id],
      );
    await eventually(async () => {
      await runSql(target.runtime.url, `update deliveries set due_at = now() where status = 'retrying'`);
      expect(await outcomes()).toEqual([
        { occurrence_id: first, status: 'sent', attempts: 2 },
        { occurrence_id: second, status: 'sent', attempts: 1 },
      ]);
    }, 15_000);
    expect(tenant.received().map(({ text }) => text)).toHaveLength(3);
  });

  test('that is interrupted while nothing is sent gives the organization back, and it can be aborted', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    const { url } = world.service.runtime;
    const interrupted = move(tenant, text => {
      if (text.startsWith('Waiting')) throw new Error('interrupted');
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    const occurrence = await tenant.trigger();
    expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent']);
    expect(await stateOf(url, tenant)).toBe('copying');

    expect(await abortMove(requestFor(tenant))).toBe(true);

    expect(await stateOf(url, tenant)).toBeUndefined();
    const left = Object.values(await readAll(target.runtime.url, tenant)).flat();
    expect([left, await stateOf(target.runtime.url, tenant)]).toEqual([[], undefined]);
    expect(await abortMove(requestFor(tenant))).toBe(false);
  });

  test('that is complete can no longer be aborted, but what it left behind can be deleted', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    await expect(forgetOrganization(requestFor(tenant))).rejects.toThrow('has not moved');
    await move(tenant);
    await expect(abortMove(requestFor(tenant))).rejects.toThrow('cannot be aborted');
    await forgetOrganization(requestFor(tenant));
    const { organizations, ...rest } = await readAll(world.service.runtime.url, tenant);
    expect([organizations!.length, Object.values(rest).flat()]).toEqual([1, []]);
    expect((await tenant.ask({ path: `/api/o/${tenant.slug}/u/` })).status).toBe(307);
  });
});

describe('an organization', () => {
  /** Sets the state as a running move does, with its lock. */
  async function setState(tenant: Tenant, state: string) {
    const { pool } = world.service.runtime.database;
    const client = await pool.connect();
    onTestFinished(() => client.release(true));
    await client.query(`select pg_advisory_lock(${0x6d6f7665}, $1)`, [tenant.id]);
    await client.query(
      `insert into organization_moves (organization_id, id, slug, state, url) values ($1, gen_random_uuid(), $2, $3, $4)
       on conflict (organization_id) do update set state = excluded.state`,
      [tenant.id, tenant.slug, state, target.address],
    );
  }

  test('accepts triggers while its last messages are sent, and sends them only when the move is aborted', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    await setState(tenant, 'draining');
    const occurrence = await tenant.trigger();
    const other = await world.tenant({ users: ['ann@x.test'] });
    await other.outcomes(await other.trigger());
    expect((await tenant.occurrence(occurrence)).status).toBe('accepted');
    await abortMove(requestFor(tenant));
    expect(await tenant.outcomes(occurrence)).toEqual(['ann@x.test sent']);
  });

  test('that is frozen is not changed by a process that does not know it yet', async () => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    await expect(
      move(tenant, text => {
        if (text.startsWith('Waiting')) throw new Error('interrupted');
      }),
    ).rejects.toThrow('interrupted');
    const change = () =>
      runSql(world.service.runtime.url, `update users set first_name = 'Ann' where organization_id = $1`, [tenant.id]);
    await change();
    await setState(tenant, 'frozen');
    await expect(change()).rejects.toMatchObject({ code: 'BLF01' });
    await abortMove(requestFor(tenant));
    await change();
  });

  test.each(['closing', 'frozen', 'arriving'])('that is %s answers with 503 and Retry-After', async state => {
    const tenant = await world.tenant({ users: ['ann@x.test'] });
    await setState(tenant, state);
    await eventually(async () => {
      const answer = await tenant.ask({ method: 'POST', path: `${tenant.event}trigger/`, body: {} });
      expect([answer.status, answer.headers['retry-after'], answer.body.code]).toEqual([
        503,
        '1',
        'organization.moving',
      ]);
    });
  });
});

test('an organization cannot move to a cell with the same range of ids', async () => {
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  const same = await createTestDatabase();
  onTestFinished(() => same.drop());
  await expect(
    moveOrganization(world.service.runtime.deps, { ...requestFor(tenant), targetUrl: same.url }),
  ).rejects.toThrow('both databases allocate ids of cell 0');
});

test('the key of the other cell is checked before anything is copied', async () => {
  await move(await world.tenant({ users: ['ann@x.test'] }));
  const tenant = await world.tenant({ users: ['ann@x.test'] });
  await expect(
    moveOrganization(world.service.runtime.deps, { ...requestFor(tenant), targetKey: 'x'.repeat(32) }),
  ).rejects.toThrow('BELFRY_TARGET_SECRET_KEY is not the key of the other cell');
  expect(await stateOf(world.service.runtime.url, tenant)).toBeUndefined();
});
