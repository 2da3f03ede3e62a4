/** The response to resuming, without a worker. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { ask } from '../support/api.ts';
import { runSql } from '../support/sql.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

let service: Service;
let tenants: Tenants;

beforeAll(async () => {
  ({ service, tenants } = await testTenants());
});
afterAll(() => service.stop());

test('resuming releases and counts held work of this organization only', async () => {
  const { url } = service.runtime;
  await runSql(url, `update occurrences set status = 'accepted', completed_at = null, due_at = 'infinity'`);
  await runSql(url, `update deliveries set status = 'pending', due_at = 'infinity'`);
  const held = async (id: number) => {
    const [row] = await runSql<{ count: string }>(
      url,
      `select (select count(*) from occurrences where organization_id = $1 and due_at = 'infinity')
        + (select count(*) from deliveries where organization_id = $1 and due_at = 'infinity') as count`,
      [id],
    );
    return Number(row!.count);
  };
  const { acme, rival } = tenants;
  const [mine, theirs] = [await held(acme.id), await held(rival.id)];
  expect([mine, theirs]).toEqual([4, 4]);
  const path = '/api/o/acme/p/shop/a/web/e/order-paid/resume/';
  const resumed = await ask(service.address, { method: 'POST', path, key: acme.keys.all });
  expect(resumed.body, resumed.text).toEqual({ paused: false, released: mine, dropped: 0 });
  expect([await held(acme.id), await held(rival.id)]).toEqual([0, theirs]);
});
