/** Which announcements come from disabling gone addresses, after which a worker checks nothing again. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Listener } from '../../src/db/connection/listen.ts';
import { type Database, openDatabase } from '../../src/db/connection/pool.ts';
import { GoneAddresses } from '../../src/engine/deliver/gone-addresses.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative/declarative.ts';
import { testDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

let runtime: Awaited<ReturnType<typeof testDatabase>>;
let disabling: Database;
let listener: Listener;
const senders: number[] = [];

beforeAll(async () => {
  runtime = await testDatabase();
  disabling = openDatabase({ url: runtime.url, name: 'disabling', connections: 1 });
  listener = new Listener({
    url: runtime.url,
    name: 'test',
    channels: ['belfry_stop'],
    onNotify: (_, __, processId) => senders.push(processId),
    onReady: () => {},
    onLost: () => {},
  });
  await listener.start();
});
afterAll(async () => {
  await listener.close();
  await disabling.close();
  await runtime.close();
});

test('recognizes the announcements that its statements cause', async () => {
  await applyConfiguration(runtime.deps, { organizations: [{ slug: 'acme', name: 'Acme' }] }, { prune: false });
  const rows = await runSql<{ organization_id: number; user_id: number; value: string }>(
    runtime.url,
    `with made as (
       insert into users (organization_id, username, email)
       select id, 'u' || i || '@x.test', 'u' || i || '@x.test' from organizations, generate_series(1, 3) i
       returning organization_id, id, email
     )
     insert into addresses (organization_id, user_id, name, value) select organization_id, id, 'push', email from made
     returning organization_id::int, user_id::int, value`,
  );
  const gone = new GoneAddresses(disabling);
  const report = { reason: '410', source: 'fcm' };
  await Promise.all(
    rows.slice(0, 2).map((one, i) => {
      const channel = { type: 'email', projectId: i === 0 ? null : 1 };
      return gone.disable({ ...one, ...report, organizationId: one.organization_id, userId: one.user_id, channel });
    }),
  );
  await eventually(() => expect(senders).toHaveLength(2));
  expect(senders.filter(processId => !gone.isOwn(processId))).toEqual([]);
  senders.length = 0;
  await runSql(runtime.url, 'update addresses set disabled_at = now() where disabled_at is null');
  await eventually(() => expect(senders).toHaveLength(1));
  expect(gone.isOwn(senders[0]!)).toBe(false);
});
