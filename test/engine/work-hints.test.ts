/** Where a worker looks for work. */
import { beforeEach, describe, expect, test } from 'vitest';
import { priorities } from '../../src/core/trigger.ts';
import type { Queue } from '../../src/db/ledger/round-robin.ts';
import { WorkHints } from '../../src/engine/work-hints.ts';

const queues: Queue[] = ['accepted', 'expanding', 'deliveries'];
let hints: WorkHints;

beforeEach(() => {
  hints = new WorkHints();
});

/** Takes all hints. */
function takeAll(): string[] {
  return queues.flatMap(queue => [...priorities.keys()].filter(p => hints.take(queue, p)).map(p => `${queue} ${p}`));
}

describe('a worker', () => {
  test('scans all queues at first, and again within about a second', () => {
    expect(hints.startScanIfDue(1_000_000)).toBe(true);
    expect(hints.nextScanAt).toBeGreaterThan(1_000_000);
    expect(hints.nextScanAt).toBeLessThan(1_001_100);
    expect(hints.startScanIfDue(hints.nextScanAt - 1)).toBe(false);
    expect(hints.startScanIfDue(hints.nextScanAt)).toBe(true);
  });

  test('looks only for the priority classes that were announced', () => {
    hints.addAnnounced('0 2');
    expect(takeAll()).toEqual(['accepted 0', 'accepted 2']);
  });

  test('looks everywhere when the notification names no class', () => {
    hints.addAnnounced('');
    expect(takeAll()).toHaveLength(9);
  });

  test('remembers what is announced while it looks', () => {
    hints.addAnnounced('1');
    expect(hints.take('accepted', 1)).toBe(true);
    hints.addAnnounced('1');
    expect(hints.take('accepted', 1)).toBe(true);
    expect(hints.take('accepted', 1)).toBe(false);
  });

  test('keeps looking for the next page of an occurrence that it cannot claim right now', () => {
    hints.expectMore(2, 1_000_000);
    expect(takeAll()).toEqual(['expanding 2']);
    expect(hints.reAddIfExpected(2, 1_001_000)).toBe(true);
    expect(takeAll()).toEqual(['expanding 2']);
    expect(hints.reAddIfExpected(1, 1_001_000)).toBe(false);
    expect(hints.reAddIfExpected(2, 1_003_000)).toBe(false);
    expect(takeAll()).toEqual([]);
  });
});
