import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Batcher, type BatcherOptions } from '../../src/lib/load/batcher.ts';

interface Write {
  items: string[];
  done(): void;
  fail(error: Error): void;
}

/** Each write continues until the test ends it. */
function open(options: Partial<BatcherOptions<string>> = {}) {
  const writes: Write[] = [];
  const batcher = new Batcher<string, string>(
    items =>
      new Promise((resolve, reject) => {
        writes.push({ items, done: () => resolve(items.map(item => item.toUpperCase())), fail: reject });
      }),
    {
      maxPerBatch: 100,
      maxWaiting: 100,
      full: () => new Error('full'),
      isItemError: error => (error as Error).message === 'bad item',
      ...options,
    },
  );
  const add = (...items: string[]) => Promise.allSettled(items.map(item => batcher.add(item)));
  /** Ends the write in progress, and lets the next one begin if there is one. */
  const end = async (error?: Error) => {
    if (error) writes.at(-1)!.fail(error);
    else writes.at(-1)!.done();
    await turn();
  };
  return { batcher, add, end, written: () => writes.map(({ items }) => items.join('')) };
}

const fulfilled = (value: string) => ({ status: 'fulfilled', value });
const rejected = (reason: Error) => ({ status: 'rejected', reason });

describe('a batch', () => {
  test('contains all items of one turn of the event loop', async () => {
    const { add, written } = open();
    add('a', 'b');
    await new Promise(process.nextTick);
    add('c');
    expect(written()).toEqual([]);
    await turn();
    expect(written()).toEqual(['abc']);
  });

  test('contains all items that arrived during the previous write, and starts after it', async () => {
    const { add, end, written } = open();
    add('a');
    await turn();
    add('b');
    await turn();
    add('c');
    await turn();
    expect(written()).toEqual(['a']);
    await end();
    expect(written()).toEqual(['a', 'bc']);
  });

  test('contains at most the maximum number of items, first come first served', async () => {
    const { add, end, written } = open({ maxPerBatch: 2 });
    add('a', 'b', 'c', 'd', 'e');
    await turn();
    await end();
    await end();
    expect(written()).toEqual(['ab', 'cd', 'e']);
  });

  test('resolves each item with its own result once it is written', async () => {
    const { add, end, batcher } = open();
    const both = add('a', 'b');
    const settled = vi.fn();
    both.then(settled);
    await turn();
    expect(settled).not.toHaveBeenCalled();
    await end();
    expect(await both).toEqual([fulfilled('A'), fulfilled('B')]);
    const later = batcher.add('c');
    await turn();
    await end();
    expect(await later).toBe('C');
  });
});

describe('lingering', () => {
  const gather = { ms: 40, enough: 3 };
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => void vi.useRealTimers());

  async function pass(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await turn();
  }

  /** Writes a first batch. */
  async function stream() {
    const opened = open({ linger: gather });
    opened.add('a');
    await turn();
    await opened.end();
    expect(opened.written()).toEqual(['a']);
    return opened;
  }

  /** Starts a write; the next batch lingers after it. */
  async function gathersAgain({ add, end, written }: ReturnType<typeof open>) {
    const before = written();
    await end();
    add('z');
    await pass(39);
    expect(written()).toEqual(before);
    await pass(1);
    expect(written()).toEqual([...before, 'z']);
  }

  test('lasts for the configured time after the previous batch began', async () => {
    const opened = open({ linger: gather });
    const { add, end, written } = opened;
    add('a');
    await turn();
    await pass(10);
    await end();
    add('b');
    await pass(29);
    add('c');
    await turn();
    expect(written()).toEqual(['a']);
    await pass(1);
    expect(written()).toEqual(['a', 'bc']);
    await gathersAgain(opened);
  });

  test('does not delay an item that arrives after a pause', async () => {
    const { add, written } = await stream();
    await pass(40);
    add('b');
    await turn();
    expect(written()).toEqual(['a', 'b']);
  });

  test('does not delay an item that has waited as long for the previous batch', async () => {
    const { add, end, written } = open({ linger: gather });
    add('a');
    await turn();
    add('b');
    await pass(40);
    await end();
    expect(written()).toEqual(['a', 'b']);
  });

  test('ends when enough items wait', async () => {
    const opened = await stream();
    const { add, written } = opened;
    add('b', 'c');
    await turn();
    expect(written()).toEqual(['a']);
    add('d');
    await turn();
    expect(written()).toEqual(['a', 'bcd']);
    await gathersAgain(opened);
  });

  test('does not begin if enough items arrived during the previous write', async () => {
    const { add, end, written } = open({ linger: gather });
    add('a');
    await turn();
    add('b', 'c', 'd', 'e');
    await end();
    expect(written()).toEqual(['a', 'bcde']);
  });

  test('ends for an urgent item, and the items before it are written with it', async () => {
    const opened = await stream();
    const { add, batcher, written } = opened;
    add('b');
    await turn();
    batcher.add('c', true);
    await turn();
    expect(written()).toEqual(['a', 'bc']);
    await gathersAgain(opened);
  });

  test('does not begin if an urgent item came first, or during the previous write', async () => {
    const { end, batcher, written } = await stream();
    batcher.add('b', true);
    await turn();
    expect(written()).toEqual(['a', 'b']);
    batcher.add('c', true);
    await end();
    expect(written()).toEqual(['a', 'b', 'c']);
  });

  test('does not delay an urgent item that does not fit into the next batch', async () => {
    const { add, end, batcher, written } = open({ linger: { ms: 40, enough: 10 }, maxPerBatch: 2 });
    add('a');
    await turn();
    add('b', 'c');
    batcher.add('d', true);
    await end();
    await end();
    expect(written()).toEqual(['a', 'bc', 'd']);
  });

  test('ends when the batcher is drained', async () => {
    const { add, end, batcher, written } = await stream();
    add('b');
    await turn();
    const drained = batcher.drain();
    await turn();
    expect(written()).toEqual(['a', 'b']);
    await end();
    await drained;
  });
});

describe('a batch that fails', () => {
  const badItem = new Error('bad item');
  const storeAway = new Error('store away');

  test('because of an item is retried item by item, and only the bad items fail', async () => {
    const { add, end, written } = open();
    const all = add('a', 'b', 'c');
    await turn();
    await end(badItem);
    const later = add('d', 'e');
    await end();
    const worse = new Error('bad item b');
    await end(worse);
    await end();
    expect(await all).toEqual([fulfilled('A'), rejected(worse), fulfilled('C')]);
    expect(written()).toEqual(['abc', 'a', 'b', 'c', 'de']);
    await end();
    expect(await later).toEqual([fulfilled('D'), fulfilled('E')]);
  });

  test('because of the store fails as a whole without a retry; the next batch is written', async () => {
    const { add, end, written } = open();
    const both = add('a', 'b');
    await turn();
    const later = add('c');
    await end(storeAway);
    expect(await both).toEqual([rejected(storeAway), rejected(storeAway)]);
    await end();
    expect(await later).toEqual([fulfilled('C')]);
    expect(written()).toEqual(['ab', 'c']);
  });

  test('is not retried if it has one item', async () => {
    const { add, end, written } = open();
    const one = add('a');
    await turn();
    await end(badItem);
    expect(await one).toEqual([rejected(badItem)]);
    expect(written()).toEqual(['a']);
  });
});

test('items above the maximum of waiting ones are rejected at once, until there is room again', async () => {
  const { add, end, batcher, written } = open({ maxWaiting: 2 });
  add('a');
  await turn();
  // Items that are being written do not count as waiting.
  expect(batcher.waiting).toBe(0);
  add('b', 'c');
  expect(batcher.waiting).toBe(2);
  expect(await add('d')).toEqual([rejected(new Error('full'))]);
  await end();
  expect(batcher.waiting).toBe(0);
  add('e');
  await end();
  expect(written()).toEqual(['a', 'bc', 'e']);
});

test('drain resolves when all items have been written or rejected', async () => {
  const { add, end, batcher } = open({ maxPerBatch: 1 });
  await batcher.drain();
  const both = add('a', 'b');
  const drained = vi.fn();
  const draining = batcher.drain().then(drained);
  await turn();
  await end(new Error('store away'));
  expect(drained).not.toHaveBeenCalled();
  await end();
  await draining;
  expect(await both).toEqual([rejected(new Error('store away')), fulfilled('B')]);
});

describe('batches that are shared between groups', () => {
  /** The group is the capital letter of an item, the size its length. */
  const share = {
    groupOf: (item: string) => item.charCodeAt(0),
    sizeOf: (item: string) => item.length,
    maxSizePerBatch: 100,
    sizePerTurn: 10,
  };
  const large = (group: string) => group + '-'.repeat(79);
  const openShared = (options: Partial<BatcherOptions<string>> = {}) => {
    const opened = open({ share, ...options });
    const groups = () => opened.written().map(text => text.replace(/-+/g, ''));
    return { ...opened, groups };
  };

  test('put an item of a small group into the next batch, however many items of another group wait', async () => {
    const { add, end, groups } = openShared();
    add(...Array(50).fill(large('A')));
    await turn();
    add('B1');
    await end();
    await end();
    expect(groups().slice(0, 3)).toEqual(['A', 'AB1', 'A']);
  });

  test('respect the maximum size, except for a single larger item', async () => {
    const { add, end, written } = openShared();
    const larger = `A${'-'.repeat(500)}`;
    add('A'.padEnd(60, '-'), 'A'.padEnd(40, '-'), 'A'.padEnd(60, '-'), larger, 'A'.padEnd(60, '-'));
    await turn();
    for (let i = 0; i < 4; i++) await end();
    expect(written().map(text => text.length)).toEqual([100, 60, 501, 60]);
  });

  test('give each group the same size in turns, so that one with small items writes more of them', async () => {
    const { add, groups } = openShared({ maxWaiting: 1_000 });
    add(...Array(20).fill('A---------'), ...Array(100).fill('B'));
    await turn();
    expect(groups()).toEqual(['ABBBBBBBBBB'.repeat(5)]);
  });

  test('keep the turn of a group whose item did not fit into the last batch', async () => {
    const { add, end, groups } = openShared();
    add(large('A'), large('B'), large('A'), large('B'), large('C'));
    await turn();
    for (let i = 0; i < 5; i++) await end();
    expect(groups()).toEqual(['A', 'B', 'C', 'A', 'B']);
  });

  test('keep the order of items within a group', async () => {
    const { add, end, written } = openShared({ maxPerBatch: 3 });
    add('A1', 'A2', 'A3', 'A4', 'B1', 'A5', 'B2');
    await turn();
    await end();
    await end();
    const all = written().join('').match(/../g)!;
    expect(all.filter(item => item.startsWith('A'))).toEqual(['A1', 'A2', 'A3', 'A4', 'A5']);
    expect(all.filter(item => item.startsWith('B'))).toEqual(['B1', 'B2']);
  });

  test('leave room for other groups when one has too many waiting', async () => {
    const { add, batcher } = openShared({ maxWaiting: 10 });
    add(...Array(5).fill('A'));
    expect(batcher.waiting).toBe(5);
    const refused = batcher.add('A');
    add('B');
    expect(batcher.waiting).toBe(6);
    await expect(refused).rejects.toThrow('full');
  });

  test('isolate failures: a bad item fails no item of another group', async () => {
    const { add, end } = openShared();
    const both = add('A', 'B');
    await turn();
    await end(new Error('bad item'));
    await end(new Error('bad item'));
    await end();
    expect(await both).toEqual([rejected(new Error('bad item')), fulfilled('B')]);
  });
});
