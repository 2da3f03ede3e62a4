/**
 * Backup and restore with a system-installed PostgreSQL and its client programs.
 *
 * @module-tag sweep
 */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openRuntime, startService } from '../../src/app.ts';
import { applyConfiguration } from '../../src/services/configuration/declarative.ts';
import { silent, testConfig } from '../support/database.ts';
import { findPostgres, type SystemPostgres, startPostgres } from '../support/postgres.ts';
import { belfry } from '../support/process.ts';
import { disconnect, runSql, withDatabase } from '../support/sql.ts';

const secretKey = 'a secret of at least 32 characters';
const bin = findPostgres();
test.runIf(!bin)('backups are not tested here', ({ skip }) => {
  skip('there is no PostgreSQL in /usr/lib/postgresql, and so no pg_dump that fits it: apt install postgresql');
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'belfry-backup-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const fileOf = (name: string) => path.join(folder, name);
const at = (url: string, key = secretKey) => ({ DATABASE_URL: url, BELFRY_SECRET_KEY: key });

describe.skipIf(!bin)('with a system-installed PostgreSQL', () => {
  let server: SystemPostgres;
  let source: string;
  let count = 0;
  const newDatabase = async () => {
    const name = `b${++count}`;
    await runSql(server.url, `create database ${name}`);
    return withDatabase(server.url, name);
  };
  beforeAll(async () => {
    server = await startPostgres(bin!);
    source = await newDatabase();
    const runtime = await openRuntime(testConfig(source), silent);
    const secrets = { url: 'https://example.test/', secret: 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5' };
    const providers = [{ use: 'standard-webhooks', ...secrets }];
    const channels = [{ slug: 'hooks', name: 'Hooks', type: 'webhook', providers }];
    await applyConfiguration(
      runtime.deps,
      { organizations: [{ slug: 'acme', name: 'Acme', channels }] },
      { prune: false },
    );
    await runtime.close();
    // The first serving process records the identity of the database.
    await (await startService(testConfig(source), silent)).stop();
    const made = await belfry(['backup', fileOf('good.dump')], at(source));
    expect(made).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/^Wrote .*good\.dump, \d+ bytes\.\n/),
    });
    expect((await stat(fileOf('good.dump'))).mode & 0o777).toBe(0o600);
  });
  afterAll(() => server?.stop());

  test('a restored database has the data and sends nothing', async () => {
    const target = await newDatabase();
    const restored = await belfry(['restore', fileOf('good.dump')], at(target));
    expect(restored).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toContain('All credentials can be decrypted.\nSending is paused. Run `belfry resume');
    expect(await runSql(target, 'select slug from organizations')).toEqual([{ slug: 'acme' }]);
    const doctor = await belfry(['doctor'], at(target));
    expect(doctor.stdout).toMatch(/FAIL +sending +Sending has been paused since .* was restored from a backup/);
    expect(await belfry(['resume', '--as-original'], at(target))).toMatchObject({ code: 0, stderr: '' });
  });

  test('a database restored by plain pg_restore is recognized as well', async () => {
    const target = await newDatabase();
    const { runTool } = await import('../../src/lib/postgres-tools.ts');
    expect(await runTool('pg_restore', ['--no-owner', fileOf('good.dump')], target)).toMatchObject({ code: 0 });
    const service = await startService(testConfig(target), silent);
    const { status } = (await (await fetch(`${service.address}/readyz`)).json()) as { status: string };
    await service.stop();
    expect(status).toBe('ready, sending is paused');
  });

  test('credentials that the key cannot decrypt are listed', async () => {
    const { code, stderr } = await belfry(
      ['restore', fileOf('good.dump')],
      at(await newDatabase(), 'another secret of at least 32 characters'),
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^belfry: cannot decrypt acme\/hooks: set BELFRY_SECRET_KEY/),
    ]);
  });

  test('a non-empty database is not overwritten without --replace, or while it is in use', async () => {
    const target = await newDatabase();
    await runSql(target, 'create table precious (id integer)');
    const refused = await belfry(['restore', fileOf('good.dump')], at(target));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('the database is not empty') });
    const user = await openRuntime(testConfig(source), silent);
    try {
      const inUse = await belfry(['restore', fileOf('good.dump'), '--replace'], at(source));
      expect(inUse).toMatchObject({ code: 1, stderr: expect.stringMatching(/\d+ other connections? (is|are) open/) });
    } finally {
      await user.close();
    }
    expect(await runSql(target, 'select from precious')).toEqual([]);
    await disconnect(target);
    const replaced = await belfry(['restore', fileOf('good.dump'), '--replace'], at(target));
    expect(replaced).toMatchObject({ code: 0, stderr: '' });
    expect(await runSql(target, "select to_regclass('precious') as gone")).toEqual([{ gone: null }]);
  });

  test('a backup of a newer version and a file that is not a backup are rejected before anything is changed', async () => {
    const newer = await newDatabase();
    await runSql(
      newer,
      "create table belfry_migrations (name text); insert into belfry_migrations values ('9999_later')",
    );
    expect(await belfry(['backup', fileOf('newer.dump')], at(newer))).toMatchObject({ code: 0 });
    await runSql(newer, 'drop table belfry_migrations; create table other ()');
    expect(await belfry(['backup', fileOf('other.dump')], at(newer))).toMatchObject({ code: 0 });
    await writeFile(fileOf('text.dump'), 'no dump');
    const target = await newDatabase();
    const refusals: [string, RegExp][] = [
      ['newer.dump', /made by a newer Belfry \(9999_later\)/],
      ['other.dump', /is not a backup of Belfry/],
      ['text.dump', /pg_restore failed: /],
      ['none.dump', /file not found/],
    ];
    for (const [name, words] of refusals) {
      const { code, stderr } = await belfry(['restore', fileOf(name)], at(target));
      expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
    }
    expect(await runSql(target, "select from pg_class where relnamespace = 'public'::regnamespace")).toEqual([]);
  });

  test('an existing file is not overwritten, and a failed backup leaves no file', async () => {
    const again = await belfry(['backup', fileOf('good.dump')], at(source));
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') });
    const nowhere = await belfry(['backup', fileOf('nowhere/x.dump')], at(source));
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('pg_dump failed') });
    expect((await readdir(folder)).filter(name => name.endsWith('.part'))).toEqual([]);
  });
});

test('a missing or outdated pg_dump is reported with what to install', async () => {
  const url = inject('postgresUrl');
  const without = await belfry(['backup', fileOf('x.dump')], { ...at(url), PATH: folder });
  expect(without.stderr).toMatch(
    /pg_dump was not found on PATH: install the PostgreSQL client programs, version 18 or later/,
  );
  await writeFile(fileOf('pg_dump'), '#!/bin/sh\necho "pg_dump (PostgreSQL) 14.2"\n', { mode: 0o755 });
  const old = await belfry(['backup', fileOf('x.dump')], { ...at(url), PATH: `${folder}:/bin` });
  expect(old.stderr).toContain('the server runs PostgreSQL 18, but pg_dump is version 14: install');
});
