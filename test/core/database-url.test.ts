/** URLs that name several servers. */
import { expect, test } from 'vitest';
import {
  addressesOf,
  checkDatabaseUrl,
  checkReplicaUrl,
  mustFindPrimary,
  serverUrls,
} from '../../src/core/operations/database-url.ts';

const both = 'postgres://belfry:p@ss@db-1:5433,[::1]/belfry?sslmode=require';

test('each server gets a URL with the same user, database and options', () => {
  const urls = ['db-1:5433', '[::1]'].map(host => `postgres://belfry:p@ss@${host}/belfry?sslmode=require`);
  expect(serverUrls(both)).toEqual(urls);
  expect(serverUrls(urls[0]!)).toEqual([urls[0]]);
});

test('addresses have no user and no password', () => {
  expect(addressesOf(both)).toEqual(['db-1:5433/belfry', '[::1]:5432/belfry']);
  expect(addressesOf('postgres://u:secret@db:6432/a%20b?sslmode=require')).toEqual(['db:6432/a b']);
  expect(addressesOf('postgres://u:secret@%2Frun%2Fpg:5433/belfry')).toEqual(['/run/pg:5433/belfry']);
});

test('the primary is looked for among several servers, and where the URL asks for it', () => {
  expect([both, 'postgres://db/x?target_session_attrs=primary', 'postgres://db/x'].map(mustFindPrimary)).toEqual([
    true,
    true,
    false,
  ]);
});

test.each([
  ['mysql://db/belfry', /starts with postgres:/],
  ['postgres://db-1,/belfry', /starts with postgres:/],
  [`postgres://${'db,'.repeat(8)}db/belfry`, /at most 8 servers/],
  ['postgres://a,b/belfry?target_session_attrs=prefer-standby', /use read-write, or leave it out/],
  ['postgres://a,b/belfry?load_balance_hosts=random', /leave it out/],
  ['postgres:///belfry?host=a,b', /name them before the database/],
])('%s is refused with what to do', (url, problem) => expect(checkDatabaseUrl(url)).toMatch(problem));

test('URLs of replicas name the servers and nothing that chooses among them', () => {
  expect(checkReplicaUrl(both)).toBeUndefined();
  expect(checkReplicaUrl('mysql://db/belfry')).toMatch(/starts with postgres:/);
  expect(checkReplicaUrl('postgres://a,b/belfry?target_session_attrs=prefer-standby')).toMatch(/leave it out/);
});

test('URLs that PostgreSQL documents for a failover are accepted', () => {
  const urls = [both, 'postgresql://a,b/belfry?target_session_attrs=read-write', 'postgres:///belfry?host=/run/pg'];
  expect(urls.map(checkDatabaseUrl)).toEqual([undefined, undefined, undefined]);
});
