/** Readiness and the doctor tell the truth about the queue: a backlog that is too old, a worker that never succeeds. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../src/app.ts';
import { uuidv7 } from '../src/core/ids.ts';
import { listOverdueAcrossTenants } from '../src/db/health.ts';
import { openDatabase } from '../src/db/pool.ts';
import { deleteOldRoundsAcrossTenants, listLiveWorkersAcrossTenants } from '../src/db/workers.ts';
import { examine } from '../src/services/doctor.ts';
import { readQueue, WorkerRounds } from '../src/services/queue.ts';
import { ask, eventually } from './support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from './support/database.ts';
import { runSql } from './support/sql.ts';

let database: TestDatabase;
let api: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  await mendClaims(database.url);
});
afterEach(async () => {
  await runSql(database.url, 'truncate occurrences, deliveries, worker_rounds');
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

/** An occurrence of an organization that nobody has to know, due for so many seconds. */
async function addDue(seconds: number, priority = 1, organization = 1): Promise<void> {
  await runSql(
    database.url,
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, context, options, status, priority, due_at, created_at)
     values ($1, $2, 1, 1, 1, '{}', '{}', 'accepted', $3, now() - $4 * interval '1 second', now())`,
    [organization, uuidv7(Date.now()), priority, seconds],
  );
}

const queueOf = async (service: Service) => {
  const { status, body } = await ask(service.address, { path: '/readyz' });
  return { status, ...body.checks.find((check: { name: string }) => check.name === 'queue') };
};
const doctored = async () =>
  (await examine(api.runtime.deps, Date.now())).find(({ name }) => name === 'queue')! as {
    ok: boolean;
    detail: string;
  };
const startWorker = () => startService(testConfig(database.url, { BELFRY_ROLE: 'worker' }), silent);

/** From now on every claim of an occurrence fails, in every worker, until `mendClaims`. */
async function breakClaims(): Promise<void> {
  await runSql(
    database.url,
    `create or replace function refuse() returns trigger language plpgsql as 'begin raise exception ''broken''; end'`,
  );
  await runSql(
    database.url,
    'create trigger refuse before update on occurrences for each row execute function refuse()',
  );
}
async function mendClaims(url: string): Promise<void> {
  await runSql(url, 'drop trigger if exists refuse on occurrences');
}

describe('a process that only accepts triggers', () => {
  test('stays ready without workers, and tells how long the oldest message has been due', async () => {
    expect(await queueOf(api)).toMatchObject({
      status: 200,
      ok: true,
      detail: '0 triggers waiting to be stored; nothing is due; no worker is running',
    });
    await addDue(1_500);
    expect(await queueOf(api)).toMatchObject({
      status: 200,
      detail: expect.stringContaining('a normal one, has been due for 25 min; no worker is running'),
    });
  });
});

describe('a process with a worker', () => {
  test('is not ready while something has been due for longer than its class may be, and says so', async () => {
    const worker = await startWorker();
    try {
      await breakClaims();
      await addDue(1_500);
      expect(await queueOf(worker)).toMatchObject({ status: 503, ok: false });
      expect((await queueOf(worker)).detail).toMatch(
        /normal one, has been due for 25 min; .* 10 min at the most: .*add/,
      );
      expect((await queueOf(api)).status).toBe(200);
      await runSql(database.url, 'truncate occurrences');
      // Bulk is meant to wait.
      await addDue(1_500, 2);
      expect((await queueOf(worker)).status).toBe(200);
      await addDue(6 * 3_600 + 60, 2);
      expect((await queueOf(worker)).status).toBe(503);
    } finally {
      await mendClaims(database.url);
      await worker.stop();
    }
  });

  test('has finished no round as long as every one fails', async () => {
    await breakClaims();
    await addDue(0);
    const failures: unknown[] = [];
    const log = Object.assign(Object.create(silent), { error: (...words: unknown[]) => failures.push(words) });
    const worker = await startService(testConfig(database.url, { BELFRY_ROLE: 'worker' }), log);
    try {
      await eventually(() => expect(failures.length).toBeGreaterThan(2));
      expect(await runSql(database.url, 'select * from worker_rounds')).toEqual([]);
      // The database's clock says how long it has lived without one.
      const [living] = await listLiveWorkersAcrossTenants(api.runtime.deps.db);
      expect(living!.sinceRoundMs).toBeGreaterThan(500);
      await mendClaims(database.url);
      await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(1));
    } finally {
      await mendClaims(database.url);
      await worker.stop();
    }
  });

  test('measures a minute from the last round that was finished', async () => {
    const { db } = api.runtime.deps;
    const rounds = new WorkerRounds(db, () => {}, 0);
    await expect(readQueue(db, rounds, 59_000)).resolves.toContain('finished a round 59 s ago');
    await expect(readQueue(db, rounds, 61_000)).rejects.toThrow('finished no round for 61 s: its log says why');
    rounds.finished(1, 61_000);
    await expect(readQueue(db, rounds, 62_000)).resolves.toContain('finished a round 1 s ago');
  });

  test('writes a round down once in ten seconds, and again after a failure', async () => {
    const closed = openDatabase({ url: database.url, name: 'closed' });
    await closed.close();
    const errors: Error[] = [];
    const deaf = new WorkerRounds(closed.db, error => errors.push(error), 0);
    for (const at of [10_000, 15_000, 19_999, 20_000]) deaf.finished(1, at);
    await eventually(() => expect(errors).toHaveLength(2));
  });
});

describe('the doctor', () => {
  test('misses a worker only where something waits for one', async () => {
    expect(await doctored()).toMatchObject({ ok: true, detail: 'nothing is due; no worker is running' });
    await addDue(30);
    expect(await doctored()).toMatchObject({ ok: true });
    await addDue(90);
    const { ok, detail } = await doctored();
    expect([ok, detail]).toEqual([false, expect.stringMatching(/due for 9\d s, and no worker is running: start one/)]);
  });

  test('counts running workers, and names those that finished no round for a minute', async () => {
    const workers = [await startWorker(), await startWorker()];
    try {
      await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(2));
      expect(await doctored()).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^nothing is due; 2 workers are running, the last round was finished \d+ s ago$/),
      });
      await runSql(
        database.url,
        `update worker_rounds set finished_at = now() - interval '2 minutes'
         where worker_id = (select min(worker_id) from worker_rounds)`,
      );
      const { ok, detail } = await doctored();
      expect([ok, detail]).toEqual([
        false,
        expect.stringMatching(/1 of 2 running workers finished no round for 2 min/),
      ]);
    } finally {
      await Promise.all(workers.map(worker => worker.stop()));
    }
  });

  test('forgets workers that are gone', async () => {
    const { db } = api.runtime.deps;
    const rounds = new WorkerRounds(db, () => {}, 0);
    rounds.finished(4_711, 10_000);
    await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(1));
    expect(await listLiveWorkersAcrossTenants(db)).toEqual([]);
    await deleteOldRoundsAcrossTenants(db, new Date(Date.now() + 1_000));
    expect(await runSql(database.url, 'select * from worker_rounds')).toEqual([]);
  });
});

describe('the age of the oldest', () => {
  test('is told for each class, over organizations, occurrences and deliveries', async () => {
    await addDue(10, 0, 3);
    await addDue(40, 0, 9);
    await addDue(-3_600, 1, 3);
    await runSql(
      database.url,
      `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
         attempts, priority, due_at)
       values (5, $1, 1, 1, 1, 1, 'retrying', 1, 2, now() - interval '70 seconds'),
         (5, $1, 1, 1, 1, 2, 'sent', 1, 2, now() - interval '700 seconds'),
         (6, $1, 1, 1, 1, 3, 'pending', 1, 2, 'infinity')`,
      [uuidv7(Date.now())],
    );
    const overdue = await listOverdueAcrossTenants(api.runtime.deps.db);
    expect(overdue.map(({ priority, ms }) => [priority, Math.round(ms / 10_000)])).toEqual([
      [0, 4],
      [2, 7],
    ]);
  });

  test('is found without reading the backlog', async () => {
    const own = openDatabase({ url: database.url, name: 'plans', connections: 1 });
    try {
      await own.pool.query('vacuum analyze deliveries');
      await own.pool.query(
        `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, status,
           attempts, priority, due_at)
         select 1 + i % 5, $1, 1, 1, 1, i, 'pending', 0, i % 3, now() - i * interval '1 millisecond'
         from generate_series(1, 20000) i`,
        [uuidv7(Date.now())],
      );
      const fetched = async () => {
        await own.pool.query('select pg_stat_force_next_flush()');
        const { rows } = await own.pool.query<{ count: number }>(
          `select sum(idx_tup_fetch + seq_tup_read)::int as count from pg_stat_user_tables where relname like 'deliveries%'`,
        );
        return rows[0]!.count;
      };
      const before = await fetched();
      const overdue = await listOverdueAcrossTenants(own.db);
      expect(overdue.map(({ priority }) => priority)).toEqual([0, 1, 2]);
      for (const { ms } of overdue) expect(ms).toBeGreaterThanOrEqual(19_990);
      expect((await fetched()) - before).toBeLessThan(200);
    } finally {
      await own.close();
    }
  });
});
