/** The suppression list over the API: entries, filters, files, the audit log and the cost of looking addresses up. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Service } from '../../src/app.ts';
import { markSuppressed } from '../../src/pipeline/suppressions.ts';
import { suppress } from '../../src/services/audience/suppressions.ts';
import { runMaintenance } from '../../src/services/operations/maintenance.ts';
import { type Ask, asker, expectProblem } from '../support/api.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;
let ask: Ask;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
  ask = asker(service.address, tenants.acme.keys.all);
});
afterAll(() => service.stop());

const path = '/api/o/acme/suppressions/';
const add = (body: object) => ask({ method: 'POST', path, body: { channel_type: 'email', ...body } });
const targets = async (query = '') =>
  (await ask({ path: path + query })).body.map((one: { target: string }) => one.target);
const upload = (body: string) =>
  ask({ method: 'POST', path: `${path}import/`, headers: { 'content-type': 'text/csv' }, body });
const lastEntry = async () => (await ask({ path: '/api/o/acme/audit/?noun=suppression&limit=1' })).body[0];

test('an entry is created once, retrieved and removed, and the log keeps who did it and what was removed', async () => {
  const made = await add({ target: 'Ada@One.test', reason: 'complained', detail: 'by phone' });
  expect(made.status, made.text).toBe(201);
  expect(made.headers.location).toMatch(new RegExp(`${path}${made.body.id}/$`));
  const fields = { channel_type: 'email', target: 'ada@one.test', reason: 'complained', source: 'manual' };
  expect(made.body).toMatchObject({ ...fields, detail: 'by phone', expires_at: null });
  expectProblem(await add({ target: 'ADA@one.test' }), 409, 'resource.exists');
  const own = `${path}${made.body.id}/`;
  expect((await ask({ path: own })).body).toEqual(made.body);
  expect((await ask({ method: 'DELETE', path: `${own}?dry_run=true` })).body.deleted).toEqual({ suppressions: 1 });
  expect((await ask({ method: 'DELETE', path: own })).body).toEqual({ deleted: { suppressions: 1 } });
  expectProblem(await ask({ path: own }), 404, 'suppression.not_found');
  expect(await lastEntry()).toMatchObject({
    action: 'delete',
    path: 'email/ada@one.test',
    before: { reason: 'complained', detail: 'by phone', since: made.body.since },
  });
});

test('a target that is not valid for its channel type, and an expiry in the past, are refused by field', async () => {
  const refused = async (field: string, body: object) =>
    expectProblem(await add(body), 400, 'request.invalid', [field]);
  await refused('target', { target: 'ada' });
  await refused('target', { channel_type: 'sms', target: '@one.test' });
  await refused('channel_type', { channel_type: 'pigeon', target: 'a' });
  await refused('expires_at', { target: 'a@one.test', expires_at: '2020-01-01T00:00:00Z' });
});

test('the list is newest first, in pages, filtered by channel type and reason, and searched by prefix', async () => {
  for (const target of ['ann@two.test', 'anna@two.test', 'bob@two.test', '@two.test']) await add({ target });
  await add({ target: '+1 555 555 0102', channel_type: 'sms', reason: 'unsubscribed' });
  await add({ target: 'U0AN', channel_type: 'slack' });
  expect((await targets()).slice(0, 3)).toEqual(['U0AN', '+15555550102', '@two.test']);
  expect(await targets('?channel_type=sms')).toEqual(['+15555550102']);
  expect(await targets('?reason=unsubscribed')).toEqual(['+15555550102']);
  expect(await targets('?search=Ann')).toEqual(['anna@two.test', 'ann@two.test']);
  expect(await targets('?search=U0A')).toEqual(['U0AN']);
  expect(await targets('?search=@two&reason=manual')).toEqual(['@two.test']);
  const first = await ask({ path: `${path}?search=ann&limit=1` });
  const [, next] = /<[^>]*(\?[^>]*)>/.exec(String(first.headers.link))!;
  expect(await targets(next)).toEqual(['ann@two.test']);
});

test('an import adds all rows or none, keeps existing entries, and an export can be imported again', async () => {
  await add({ target: 'old@three.test', reason: 'bounced', expires_at: '2090-01-31T09:00:00Z' });
  const file =
    'target;channel_type;reason;detail;expires_at\n' +
    "new@three.test;;bounced;=1+1;\n'@three.test;email;;;2091-01-31\n'+1 555 555 0103;sms;;;\nOLD@three.test;;manual;;\n";
  expectProblem(await upload(`${file}ada;;;;\n`), 400, 'request.invalid', ['row 6/target']);
  expect(await targets('?search=new@three')).toEqual([]);
  expect((await upload(file)).body).toEqual({ rows: 4, added: 3, extended: 1, existing: 0 });
  expect((await upload(file)).body).toEqual({ rows: 4, added: 0, extended: 0, existing: 4 });
  expect(await lastEntry()).toMatchObject({ action: 'import', after: { rows: 4, added: 0 } });
  const [old] = (await ask({ path: `${path}?search=old@three` })).body;
  expect(old).toMatchObject({ reason: 'bounced', source: 'manual', expires_at: null });
  const exported = await ask({ path: `${path}export/` });
  expect(exported.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(exported.text).toMatch(/^\ufefftarget,channel_type,reason,detail,expires_at,source,since,projects\r\n/);
  expect(exported.text).toMatch(/\r\nnew@three\.test,email,bounced,'=1\+1,,import,20/);
  expect(await lastEntry()).toMatchObject({ action: 'export' });
  const again = await upload(exported.text);
  expect(again.body, again.text).toMatchObject({ added: 0, extended: 0 });
});

test('an entry of projects keeps them in a file, and an unknown project is refused', async () => {
  const { deps } = service.runtime;
  const { body: made } = await ask({ path: '/api/o/acme/p/' });
  const slugs = made.map(({ slug }: { slug: string }) => slug).sort();
  expect(slugs.length).toBeGreaterThan(1);
  const rows = `target,projects\none@seven.test,${slugs[0]}\nall@seven.test,\nsome@seven.test,${slugs.join('  ')}\n`;
  expectProblem(await upload(`${rows}x@seven.test,nowhere\n`), 400, 'request.invalid', ['row 5/projects']);
  expect((await upload(rows)).body).toMatchObject({ added: 3 });
  const scopes = async () => {
    const { body } = await ask({ path: path });
    const own = body.filter(({ target }: { target: string }) => target.endsWith('@seven.test'));
    return Object.fromEntries(own.map((one: { target: string; projects: unknown }) => [one.target, one.projects]));
  };
  const expected = { 'one@seven.test': [slugs[0]], 'all@seven.test': null, 'some@seven.test': slugs };
  expect(await scopes()).toEqual(expected);
  const exported = await ask({ path: `${path}export/` });
  await deps.db.deleteFrom('suppressions').where('target', 'like', '%@seven.test').execute();
  await upload(exported.text);
  expect(await scopes()).toEqual(expected);
  // An entry whose projects were deleted stops nothing: it must not come back for all channels.
  await deps.db
    .updateTable('suppressions')
    .set({ projects: [999_999_999] })
    .where('target', '=', 'one@seven.test')
    .execute();
  expect((await ask({ path: `${path}export/` })).text).not.toContain('one@seven.test');
});

test('what providers report is added in one transaction, shortened, without replacing earlier entries', async () => {
  const { deps } = service.runtime;
  const report = (target: string, more: object = {}) => ({
    channel_type: 'email',
    target,
    reason: 'bounced' as const,
    source: 'mailgun',
    detail: `550\0${'x'.repeat(600)}`,
    projects: null,
    ...more,
  });
  const reports = [report('Hard@four.test', { feedback_id: 'e1' }), report('hard@four.test'), report('not an address')];
  const run = () => deps.db.transaction().execute(trx => suppress(deps, trx, tenants.acme.id, reports));
  expect(await run()).toBe(1);
  expect(await lastEntry()).toMatchObject({ action: 'create', path: 'email/hard@four.test' });
  const [entry] = (await ask({ path: `${path}?search=hard@four` })).body;
  expect(entry).toMatchObject({ source: 'mailgun', detail: `550${'x'.repeat(497)}` });
  expect(await run()).toBe(0);
  expect((await ask({ path: `${path}${entry.id}/` })).body).toEqual(entry);
});

test('an expired entry counts as absent, can be added again, and is deleted by maintenance', async () => {
  const { deps } = service.runtime;
  const expire = (target: string) =>
    deps.db
      .updateTable('suppressions')
      .set({ expires_at: new Date(0) })
      .where('target', '=', target)
      .execute();
  const stored = async () =>
    (await deps.db.selectFrom('suppressions').select('target').where('target', 'like', '%@five.test').execute()).length;
  const { body: first } = await add({ target: 'a@five.test', expires_at: '2090-01-31T09:00:00Z' });
  await add({ target: 'b@five.test' });
  await expire('a@five.test');
  await expire('b@five.test');
  expect(await targets('?search=a@five')).toEqual([]);
  expectProblem(await ask({ path: `${path}${first.id}/` }), 404, 'suppression.not_found');
  expect((await add({ target: 'a@five.test', reason: 'bounced' })).body).toMatchObject({ reason: 'bounced' });
  expect(await stored()).toBe(2);
  await runMaintenance(deps, Date.now());
  expect(await stored()).toBe(1);
});

test('an organization without entries looks nothing up, and one with entries once for all recipients', async () => {
  const { deps } = service.runtime;
  const users = (organization_id: number) =>
    Array.from({ length: 500 }, (_, i) => ({
      organization_id,
      addresses: [{ name: 'email', value: i === 7 ? 'Fax@acme.test' : `user${i}@six.test` }],
    }));
  const query = vi.fn(deps.pool.query.bind(deps.pool));
  const counted = { pool: { query } as never, plans: deps.plans };
  const without = await deps.db
    .insertInto('organizations')
    .values({ slug: 'six', name: 'Six' })
    .returning('id')
    .executeTakeFirstOrThrow();
  await markSuppressed(counted, users(without.id));
  expect(query).not.toHaveBeenCalled();
  const marked = await markSuppressed(counted, users(tenants.acme.id));
  expect(query).toHaveBeenCalledTimes(1);
  expect(marked.filter(({ addresses }) => (addresses[0] as { suppression?: object }).suppression)).toHaveLength(1);
});

test('imports and exports of one organization wait for its own, and leave connections to others', async () => {
  const { bulk } = service.runtime.deps;
  const slow = Promise.withResolvers<void>();
  const running = [1, 2].map(() => bulk.run(tenants.acme.id, () => slow.promise));
  const ended: string[] = [];
  const own = [upload('target\nlate@eight.test\n'), ask({ path: `${path}export/` })].map(answer =>
    answer.then(({ status }) => ended.push(`acme ${status}`)),
  );
  const rival = asker(service.address, tenants.rival.keys.all);
  const other = path.replace('acme', 'rival');
  const headers = { 'content-type': 'text/csv' };
  const body = 'target\nfirst@eight.test\n';
  ended.push(`rival ${(await rival({ method: 'POST', path: `${other}import/`, headers, body })).status}`);
  expect((await rival({ path: `${other}export/` })).text).toContain('first@eight.test');
  expect(ended).toEqual(['rival 200']);
  slow.resolve();
  await Promise.all([...running, ...own]);
  expect(ended).toEqual(['rival 200', 'acme 200', 'acme 200']);
});
