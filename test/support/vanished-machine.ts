/**
 * Runs in its own network, which it takes down: PostgreSQL gets no packet from its clients any more, as if their machine had
 * vanished. Prints after how many milliseconds a lease is free, and whether a lock of an ordinary session is still held then.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { acquireLease } from '../../src/db/ledger/workers.ts';
import { openEmbedded } from '../../src/embedded/embedded.ts';

const ordinaryLock = 4711;
const maxMs = 60_000;
const setNetwork = (state: 'up' | 'down') => execFileSync('ip', ['link', 'set', 'lo', state]);

setNetwork('up');
const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-vanished-'));
const { url, release } = await openEmbedded({ dataDir });
// Over a socket in the file system, which needs no network.
const observer = new pg.Client({ connectionString: url });
await observer.connect();
await observer.query('create sequence if not exists worker_ids');
const overNetwork = url.replace(/@[^:]*:/, '@127.0.0.1:');
const { id } = await acquireLease(overNetwork, () => {});
const ordinary = new pg.Client({ connectionString: overNetwork });
ordinary.on('error', () => {});
await ordinary.connect();
await ordinary.query(`select pg_advisory_lock(${ordinaryLock})`);
const isHeld = async (lock: number) =>
  (await observer.query("select from pg_locks where locktype = 'advisory' and objid = $1", [lock])).rowCount === 1;

if (!(await isHeld(id))) throw new Error('the lease is not held');
setNetwork('down');
const began = Date.now();
while ((await isHeld(id)) && Date.now() - began < maxMs) await sleep(200);
const result = { freeAfterMs: Date.now() - began, isOrdinaryHeld: await isHeld(ordinaryLock) };
process.stdout.write(JSON.stringify(result));
setNetwork('up');
await observer.end();
ordinary.end().catch(() => {});
await Promise.race([once(ordinary, 'end'), sleep(1_000)]);
await release();
await rm(dataDir, { recursive: true, force: true });
process.exit(0);
