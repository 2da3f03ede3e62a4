/** Detection of databases that were restored or cloned. */
import { describe, expect, test } from 'vitest';
import { type DatabaseFacts, findDifference, maxSilenceMs } from '../../src/core/operations/instance.ts';

const facts: DatabaseFacts = { relation: 16_500, database: 16_384, system: '73', server_major: 16, timeline: 1 };
const addresses = ['db.internal:5432/belfry'];
const recorded = { ...facts, isOwnRow: true, addresses, name: 'production', filesMadeAt: null, xid: 700 };
const here = { name: 'production', addresses };
const recently = { silentMs: 1_000, isInUse: false };
const longAgo = { silentMs: maxSilenceMs + 1, isInUse: false };

describe('sending continues', () => {
  test.each([
    ['after a night without processes', facts, here, longAgo],
    [
      'after pg_upgrade, which creates a new server identity',
      { ...facts, system: '99', server_major: 17 },
      here,
      longAgo,
    ],
    ['after a failover', { ...facts, timeline: 2 }, here, recently],
    ['at another address, shortly after', facts, { ...here, addresses: ['pooler:6432/belfry'] }, recently],
    [
      'at another address, while other workers use the database',
      facts,
      { ...here, addresses: ['x:1/belfry'] },
      { ...longAgo, isInUse: true },
    ],
    [
      'on a promoted standby that DATABASE_URL names beside the server before',
      { ...facts, timeline: 2 },
      { ...here, addresses: ['standby:5432/belfry', ...addresses] },
      { ...recently, seenXid: 700 },
    ],
    ['when the server does not reveal its identity', { ...facts, system: null, timeline: null }, here, longAgo],
    ['when BELFRY_INSTANCE is not set', facts, { addresses }, longAgo],
  ])('%s', (_, present, connection, activity) => {
    expect(findDifference(recorded, present, connection, activity)).toBe(undefined);
  });

  test('when the files of the embedded database have the same or an unknown creation time', () => {
    const embedded = { ...recorded, addresses: [], name: null, filesMadeAt: 5 };
    expect(findDifference(embedded, facts, { filesMadeAt: 5 }, longAgo)).toBe(undefined);
    expect(findDifference(embedded, facts, {}, longAgo)).toBe(undefined);
  });
});

describe('sending pauses', () => {
  test.each([
    ['after a dump was restored', { ...recorded, isOwnRow: false }, facts, here, recently, 'restored'],
    ['after the tables were recreated', recorded, { ...facts, relation: 1 }, here, recently, 'restored'],
    ['after createdb --template', recorded, { ...facts, database: 1 }, here, recently, 'cloned'],
    ['on another server', recorded, { ...facts, system: '99' }, here, recently, 'server'],
    ['on an older server', recorded, { ...facts, system: '99', server_major: 15 }, here, recently, 'server'],
    ['under another name', recorded, facts, { ...here, name: 'staging' }, recently, 'name'],
    ['after point-in-time recovery', recorded, { ...facts, timeline: 2 }, here, longAgo, 'timeline'],
    [
      'on a promoted clone',
      recorded,
      { ...facts, timeline: 2 },
      { addresses: ['staging:5432/belfry'] },
      recently,
      'timeline',
    ],
    [
      'on a promoted standby that had not received everything',
      recorded,
      { ...facts, timeline: 2 },
      here,
      { ...recently, seenXid: 701 },
      'rewound',
    ],
    ['on a clone of the disk', recorded, facts, { addresses: ['staging:5432/belfry'] }, longAgo, 'address'],
    ['on copied files', { ...recorded, filesMadeAt: 5 }, facts, { filesMadeAt: 6 }, recently, 'files'],
  ])('%s', (_, before, present, connection, activity, reason) => {
    expect(findDifference(before, present, connection, activity)).toBe(reason);
  });
});
