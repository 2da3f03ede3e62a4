import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Batcher, type BatcherOptions } from '../src/lib/batcher.ts';

interface Write {
  items: string[];
  done(): void;
  fail(error: Error): void;
}

/** Each write goes on until the test ends it. */
function open(options: Partial<BatcherOptions> = {}) {
  const writes: Write[] = [];
  const batcher = new Batcher<string, string>(
    items =>
      new Promise((resolve, reject) => {
        writes.push({ items, done: () => resolve(items.map(item => item.toUpperCase())), fail: reject });
      }),
    {
      mostPerBatch: 100,
      mostWaiting: 100,
      full: () => new Error('full'),
      isItemsFault: error => (error as Error).message === 'bad item',
      ...options,
    },
  );
  const add = (...items: string[]) => Promise.allSettled(items.map(item => batcher.add(item)));
  /** Ends the write that is under way, and lets the next one begin if it will. */
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
  test('takes all that came in one turn', async () => {
    const { add, written } = open();
    add('a', 'b');
    await new Promise(process.nextTick);
    add('c');
    expect(written()).toEqual([]);
    await turn();
    expect(written()).toEqual(['abc']);
  });

  test('takes all that came while the last one was written, and not before that is done', async () => {
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

  test('takes so many at most, first come first', async () => {
    const { add, end, written } = open({ mostPerBatch: 2 });
    add('a', 'b', 'c', 'd', 'e');
    await turn();
    await end();
    await end();
    expect(written()).toEqual(['ab', 'cd', 'e']);
  });

  test('gives everyone the result of the own item once it is written', async () => {
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

describe('gathering', () => {
  const gather = { ms: 40, enough: 3 };
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => void vi.useRealTimers());

  async function pass(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms);
    await turn();
  }

  /** A first batch has been written just now. */
  async function stream() {
    const opened = open({ gather });
    opened.add('a');
    await turn();
    await opened.end();
    expect(opened.written()).toEqual(['a']);
    return opened;
  }

  /** The next one waits until as long after the one that is being written. */
  async function gathersAgain({ add, end, written }: ReturnType<typeof open>) {
    const before = written();
    await end();
    add('z');
    await pass(39);
    expect(written()).toEqual(before);
    await pass(1);
    expect(written()).toEqual([...before, 'z']);
  }

  test('goes on for so long after the last batch began', async () => {
    const opened = open({ gather });
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

  test('keeps nobody who comes after a pause', async () => {
    const { add, written } = await stream();
    await pass(40);
    add('b');
    await turn();
    expect(written()).toEqual(['a', 'b']);
  });

  test('keeps nobody who has waited as long for the last batch', async () => {
    const { add, end, written } = open({ gather });
    add('a');
    await turn();
    add('b');
    await pass(40);
    await end();
    expect(written()).toEqual(['a', 'b']);
  });

  test('ends when there are enough', async () => {
    const { add, written } = await stream();
    add('b', 'c');
    await turn();
    expect(written()).toEqual(['a']);
    add('d');
    await turn();
    expect(written()).toEqual(['a', 'bcd']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('does not begin where enough came while the last batch was written', async () => {
    const { add, end, written } = open({ gather });
    add('a');
    await turn();
    add('b', 'c', 'd', 'e');
    await end();
    expect(written()).toEqual(['a', 'bcde']);
  });

  test('ends for one in a hurry, who takes along those before', async () => {
    const opened = await stream();
    const { add, batcher, written } = opened;
    add('b');
    await turn();
    batcher.add('c', true);
    await turn();
    expect(written()).toEqual(['a', 'bc']);
    expect(vi.getTimerCount()).toBe(0);
    await gathersAgain(opened);
  });

  test('does not begin for one in a hurry who came first, or while the last batch was written', async () => {
    const { end, batcher, written } = await stream();
    batcher.add('b', true);
    await turn();
    expect(written()).toEqual(['a', 'b']);
    batcher.add('c', true);
    await end();
    expect(written()).toEqual(['a', 'b', 'c']);
  });

  test('keeps nobody in a hurry who does not fit into the next batch', async () => {
    const { add, end, batcher, written } = open({ gather: { ms: 40, enough: 10 }, mostPerBatch: 2 });
    add('a');
    await turn();
    add('b', 'c');
    batcher.add('d', true);
    await end();
    await end();
    expect(written()).toEqual(['a', 'bc', 'd']);
  });

  test('ends when all is to be drained', async () => {
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

  test('because of an item is written again item by item, and only the bad ones fail', async () => {
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

  test('because of the store fails whole and is not written again; the next one is written', async () => {
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

  test('is not written again where it is one item', async () => {
    const { add, end, written } = open();
    const one = add('a');
    await turn();
    await end(badItem);
    expect(await one).toEqual([rejected(badItem)]);
    expect(written()).toEqual(['a']);
  });
});

test('above so many waiting the next is refused at once, until there is room again', async () => {
  const { add, end, batcher, written } = open({ mostWaiting: 2 });
  add('a');
  await turn();
  // What is being written waits no longer.
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

test('drained is what has been written or refused', async () => {
  const { add, end, batcher } = open({ mostPerBatch: 1 });
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
