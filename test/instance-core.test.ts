/** Which database is taken for the one of before, and which for a copy. */
import { describe, expect, test } from 'vitest';
import { addressOf, type DatabaseFacts, findDifference, longestSilenceMs } from '../src/core/instance.ts';

const facts: DatabaseFacts = { relation: 16_500, database: 16_384, system: '73', server_major: 16, timeline: 1 };
const address = 'db.internal:5432/belfry';
const recorded = { ...facts, isOwnRow: true, addresses: [address], name: 'production', filesMadeAt: null };
const here = { name: 'production', address };
const lately = { silentMs: 1_000, isInUse: false };
const longAgo = { silentMs: longestSilenceMs + 1, isInUse: false };

describe('goes on', () => {
  test.each([
    ['after a night without processes', facts, here, longAgo],
    ['after pg_upgrade, which makes a new server', { ...facts, system: '99', server_major: 17 }, here, longAgo],
    ['after a failover', { ...facts, timeline: 2 }, here, lately],
    ['by another address, a moment later', facts, { ...here, address: 'pooler:6432/belfry' }, lately],
    ['by another address, while others work', facts, { ...here, address: 'x:1/belfry' }, { ...longAgo, isInUse: true }],
    ['where the server does not tell what it is', { ...facts, system: null, timeline: null }, here, longAgo],
    ['where BELFRY_INSTANCE is not set', facts, { address }, longAgo],
  ])('%s', (_, present, surroundings, circumstances) => {
    expect(findDifference(recorded, present, surroundings, circumstances)).toBe(undefined);
  });

  test('in a container without a volume, whose embedded database is new', () => {
    const embedded = { ...recorded, addresses: [], name: null, filesMadeAt: 5 };
    expect(findDifference(embedded, facts, { filesMadeAt: 5 }, longAgo)).toBe(undefined);
    expect(findDifference(embedded, facts, {}, longAgo)).toBe(undefined);
  });
});

describe('pauses', () => {
  test.each([
    ['after a dump was restored', { ...recorded, isOwnRow: false }, facts, here, lately, 'restored'],
    ['after tables were made anew', recorded, { ...facts, relation: 1 }, here, lately, 'restored'],
    ['after createdb --template', recorded, { ...facts, database: 1 }, here, lately, 'cloned'],
    ['on another server', recorded, { ...facts, system: '99' }, here, lately, 'server'],
    ['on an older server', recorded, { ...facts, system: '99', server_major: 15 }, here, lately, 'server'],
    ['under another name', recorded, facts, { ...here, name: 'staging' }, lately, 'name'],
    ['after point-in-time recovery', recorded, { ...facts, timeline: 2 }, here, longAgo, 'timeline'],
    [
      'on a promoted clone',
      recorded,
      { ...facts, timeline: 2 },
      { address: 'staging:5432/belfry' },
      lately,
      'timeline',
    ],
    ['on a clone of the disk', recorded, facts, { address: 'staging:5432/belfry' }, longAgo, 'address'],
    ['on copied files', { ...recorded, filesMadeAt: 5 }, facts, { filesMadeAt: 6 }, lately, 'files'],
  ])('%s', (_, before, present, surroundings, circumstances, reason) => {
    expect(findDifference(before, present, surroundings, circumstances)).toBe(reason);
  });
});

test('an address has no user and no password', () => {
  expect(addressOf('postgres://belfry:secret@db.internal/belfry')).toBe('db.internal:5432/belfry');
  expect(addressOf('postgres://belfry:secret@db.internal:6432/a%20b?sslmode=require')).toBe('db.internal:6432/a b');
  expect(addressOf('postgres://belfry:secret@%2Frun%2Fpg:5433/belfry')).toBe('/run/pg:5433/belfry');
});
