import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { findReference } from '../../src/core/feedback/identify.ts';
import { readReturnPath, returnPathOf } from '../../src/core/feedback/return-path.ts';
import { assignCell, readCell } from '../../src/db/connection/cell.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { testDatabase } from '../support/database.ts';

let runtime: Runtime;
beforeAll(async () => {
  runtime = await testDatabase();
});
afterAll(() => runtime.close());

test('a cell allocates ids of its range, and keeps its number', async () => {
  const { db } = runtime.deps;
  const create = async (slug: string) => {
    const { id } = await db
      .insertInto('organizations')
      .values({ slug, name: slug })
      .returning('id')
      .executeTakeFirstOrThrow();
    const project = { organization_id: id, slug, name: slug };
    return [id, (await db.insertInto('projects').values(project).returning('id').executeTakeFirstOrThrow()).id];
  };
  await create('before');
  expect(await readCell(db)).toBe(0);
  await assignCell(db, 3);
  const first = [3 * 2 ** 20 + 1, 3 * 2 ** 40 + 1];
  expect(await create('a')).toEqual(first);
  await assignCell(db, 3);
  expect(await create('b')).toEqual(first.map(id => id + 1));
  await expect(assignCell(db, 2)).rejects.toThrow('BELFRY_CELL is 2, but the database belongs to cell 3');
});

test('the largest ids fit into return paths and Message-IDs', () => {
  const signer = createSigner('a secret of at least 32 characters');
  const delivery = {
    organizationId: 256 * 2 ** 20 - 1,
    occurrence: 'ffffffff-ffff-7fff-bfff-ffffffffffff',
    id: 256 * 2 ** 40 - 1,
  };
  const path = returnPathOf(delivery, signer.signShort);
  expect(path.length).toBeLessThanOrEqual(64);
  expect(readReturnPath(`${path}@bounces.test`, signer.isSignedShort)).toEqual(delivery);
  const messageId = `<${delivery.occurrence}.${delivery.id}@x.test>`;
  expect(findReference({ deliveryId: null, messageId })).toMatchObject({ id: delivery.id });
});
