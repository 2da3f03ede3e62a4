/** Processes that share the database of a folder: they come, leave and are killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  cluster,
  eventually,
  isAlive,
  isRoot,
  newFolder,
  open,
  openElsewhere,
  pidFile,
  portOf,
  postmasterPid,
  prepareCluster,
  query,
  squat,
} from './support/embedded.ts';

const { usedFolder } = prepareCluster();

async function serverPids(dataDir: string, url: string): Promise<number[]> {
  // One that is there for as long as the server comes second: others may end by themselves at any moment.
  const rows = await query<{ pid: number }>(
    url,
    `select pid from pg_stat_activity where pid <> pg_backend_pid() order by backend_type = 'checkpointer' desc`,
  );
  return [await postmasterPid(dataDir), ...rows.map(row => row.pid)];
}

/** As a power cut: no process of the server gets to tidy up. */
async function killAll(pids: number[]): Promise<void> {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await eventually(() => !pids.some(isAlive));
}

describe('opening and leaving', () => {
  test('the first to open makes the database, the second joins the same server', async () => {
    const dataDir = await newFolder();
    const first = await open(dataDir);
    const second = await open(dataDir);
    expect(first.created).toBe(true);
    expect(second.created).toBe(false);
    expect(second.url).toBe(first.url);
    expect(first.url).toMatch(/^postgres:\/\/belfry_app:[\w-]{32}@(127\.0\.0\.1|%2F[\w%.-]+):\d+\/belfry$/);
  });

  test('two processes that start at once on an empty folder share one server', async () => {
    const dataDir = await newFolder();
    const both = await Promise.all([openElsewhere(dataDir), openElsewhere(dataDir)]);
    expect(both[0].url).toBe(both[1].url);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
    expect((await readdir(dataDir)).sort()).toEqual(['postgres', 'postgres.log']);
  });

  test('so do several within one process', async () => {
    const dataDir = await newFolder();
    const all = await Promise.all([open(dataDir), open(dataDir), open(dataDir)]);
    expect(new Set(all.map(({ url }) => url)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
  });

  test('the last to leave stops the server, and nobody before', async () => {
    const dataDir = await usedFolder();
    const here = await open(dataDir);
    const there = await openElsewhere(dataDir);
    const pid = await postmasterPid(dataDir);
    await here.release();
    expect(await query(there.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await postmasterPid(dataDir)).toBe(pid);
    await there.leave();
    expect(isAlive(pid)).toBe(false);
    await expect(stat(pidFile(dataDir))).rejects.toThrow('ENOENT');
  });

  test('a killed process does not keep the server running', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const here = await open(dataDir);
    const pid = await postmasterPid(dataDir);
    there.process.kill('SIGKILL');
    await once(there.process, 'exit');
    const presences = `select 1 from pg_stat_activity where application_name = 'belfry presence'`;
    await eventually(async () => (await query(here.url, presences)).length === 1);
    await here.release();
    expect(isAlive(pid)).toBe(false);
  });

  test('Ctrl-C in the terminal ends the process and not the server', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const here = await open(dataDir);
    const pid = await postmasterPid(dataDir);
    process.kill(-(there.process.pid ?? 0), 'SIGINT'); // The whole group, as a terminal does.
    await once(there.process, 'exit');
    expect(await query(here.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(await postmasterPid(dataDir)).toBe(pid);
  });

  test('who opens while the last one leaves gets a living server', async () => {
    const dataDir = await usedFolder();
    let current = await open(dataDir);
    for (const delayMs of [0, 1, 2, 4, 8, 16, 32]) {
      const leaving = current.release();
      await sleep(delayMs);
      current = await open(dataDir);
      await leaving;
      expect(await query(current.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    }
  });

  test('leaving twice, or after the server died, does no harm', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    await Promise.all([db.release(), db.release()]);
    const again = await open(dataDir);
    const pids = await serverPids(dataDir, again.url);
    await Promise.all([killAll(pids), again.release(), again.release()]);
    await again.release();
    expect(pids.some(isAlive)).toBe(false);
  });

  test('an existing database opens in well under 1.5 seconds', async () => {
    const dataDir = await usedFolder();
    await (await open(dataDir)).release();
    // The best of several: other tests share this machine.
    const times: number[] = [];
    while (times.length < 5 && Math.min(...times) >= 1_500) {
      const startedAt = performance.now();
      const db = await open(dataDir, { durable: true });
      times.push(performance.now() - startedAt);
      await db.release();
    }
    expect(Math.min(...times)).toBeLessThan(1_500);
  });
});

describe('after a crash', () => {
  test('committed rows are there when everything was killed', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    await query(there.url, 'create table kept (n int)');
    await query(there.url, 'set synchronous_commit = on; insert into kept select generate_series(1, 1000)');
    const pids = await serverPids(dataDir, there.url);
    there.process.kill('SIGKILL');
    await killAll(pids);
    const db = await open(dataDir, { durable: true });
    expect(db.created).toBe(false);
    expect(await query(db.url, 'select count(*)::int as n from kept')).toEqual([{ n: 1000 }]);
  });

  test('a start waits for the last process of a server that was killed', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const [postmaster = 0, straggler = 0, ...others] = await serverPids(dataDir, there.url);
    there.process.kill('SIGKILL');
    process.kill(straggler, 'SIGSTOP'); // It cannot see that its postmaster is dead.
    await killAll([postmaster, ...others]);
    let isOpen = false;
    const opening = open(dataDir).then(db => {
      isOpen = true;
      return db;
    });
    await sleep(500);
    expect(isOpen).toBe(false);
    process.kill(straggler, 'SIGKILL');
    expect(await query((await opening).url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('a lock file whose pid now belongs to a stranger is no obstacle', async () => {
    const dataDir = await usedFolder();
    const there = await openElsewhere(dataDir);
    const lock = await readFile(pidFile(dataDir), 'utf8');
    await there.leave();
    // Under the server's own user: PostgreSQL by itself overlooks only strangers of another user.
    const { uid, gid } = await stat(cluster(dataDir));
    const stranger = spawn('sleep', ['60'], isRoot ? { uid, gid } : {});
    onTestFinished(() => void stranger.kill('SIGKILL'));
    await writeFile(pidFile(dataDir), lock.replace(/^\d+/, `${stranger.pid}`), { mode: 0o600 });
    if (isRoot) await chown(pidFile(dataDir), uid, gid);
    const db = await open(dataDir);
    expect(await query(db.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    expect(isAlive(stranger.pid ?? 0)).toBe(true);
  });

  test('those present bring a killed server back at the same address', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    await killAll(await serverPids(dataDir, db.url));
    await eventually(() =>
      query(db.url, 'select 1').then(
        () => true,
        () => false,
      ),
    );
    await db.release();
    await expect(stat(pidFile(dataDir))).rejects.toThrow('ENOENT');
  });

  test('a presence whose connection was cut is taken up again', async () => {
    const dataDir = await usedFolder();
    const db = await open(dataDir);
    const presences = `select pid from pg_stat_activity where application_name = 'belfry presence'`;
    const [before] = await query<{ pid: number }>(db.url, presences);
    await query(db.url, 'select pg_terminate_backend($1)', [before?.pid]);
    await eventually(async () => {
      const now = await query<{ pid: number }>(db.url, presences);
      return now.length === 1 && now[0]?.pid !== before?.pid;
    });
  });

  test('what a process killed in the middle of making a cluster left behind is swept away', async () => {
    const dataDir = await newFolder();
    const dead = spawn('true');
    await once(dead, 'exit');
    const left = `postgres.new-${dead.pid}-x`;
    await mkdir(join(dataDir, left, 'cluster'), { recursive: true });
    const db = await open(dataDir);
    expect(db.created).toBe(true);
    expect(await readdir(dataDir)).not.toContain(left);
  });
});

describe('the port', () => {
  test('is remembered, and replaced when someone else has taken it', async () => {
    const dataDir = await usedFolder();
    const first = await open(dataDir);
    await first.release();
    const second = await open(dataDir);
    expect(second.url).toBe(first.url);
    await second.release();

    const squatter = await squat(portOf(first.url));
    const moved = await open(dataDir);
    expect(portOf(moved.url)).not.toBe(portOf(first.url));
    await moved.release();
    squatter.close();
    expect((await open(dataDir)).url).toBe(moved.url);
  });
});
