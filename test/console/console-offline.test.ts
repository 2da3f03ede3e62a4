/** What the console does while the browser is offline. */
import { MutationObserver, onlineManager, QueryClient, QueryObserver } from '@tanstack/query-core';
import { afterEach, expect, test } from 'vitest';
import { UnreachableError } from '../../console/src/api.ts';
import { queryDefaults } from '../../console/src/queries.ts';

afterEach(() => onlineManager.setOnline(true));

test('a change fails at once, and is not made when the connection returns', async () => {
  const queries = new QueryClient({ defaultOptions: queryDefaults });
  onlineManager.setOnline(false);
  let requests = 0;
  const mutation = new MutationObserver(queries, {
    mutationFn: async () => {
      requests++;
      throw new UnreachableError('unreachable');
    },
  });
  await expect(mutation.mutate()).rejects.toThrow('unreachable');
  expect(mutation.getCurrentResult()).toMatchObject({ status: 'error', isPaused: false });
  onlineManager.setOnline(true);
  await queries.resumePausedMutations();
  expect(requests).toBe(1);
});

test('a page is loaded from the service, whatever the browser says about its connection', async () => {
  const queries = new QueryClient({ defaultOptions: queryDefaults });
  onlineManager.setOnline(false);
  const query = new QueryObserver(queries, { queryKey: ['page'], queryFn: async () => 'from loopback' });
  expect(await query.refetch()).toMatchObject({ status: 'success', data: 'from loopback' });
});
