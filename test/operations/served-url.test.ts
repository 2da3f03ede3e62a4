/** Links that commands print lead to the running server. */
import { expect, test } from 'vitest';
import { findLinkUrl } from '../../src/services/operations/instance.ts';
import { testService } from '../support/database.ts';

test('a command finds the address of the server, without its own BASE_URL and PORT', async () => {
  const service = await testService({ BELFRY_ROLE: 'all' });
  const { db } = service.runtime.deps;
  const local = 'http://127.0.0.1:8000';
  expect(await findLinkUrl(db, local, { baseUrl: undefined })).toBe(service.address);
  expect(await findLinkUrl(db, local, { baseUrl: 'https://belfry.test' })).toBe('https://belfry.test');
  // A server that listens on other interfaces does not know its address; before the first start nothing is recorded.
  for (const [served_url, found] of [
    ['', undefined],
    [null, local],
  ] as const) {
    await db.updateTable('instance').set({ served_url }).execute();
    expect(await findLinkUrl(db, local, { baseUrl: undefined })).toBe(found);
  }
  await service.stop();
});
