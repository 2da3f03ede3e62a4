/**
 * Readiness and the doctor detect a backlog that is too old and a worker that never finishes a round.
 *
 * @module-tag sweep
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../../src/app.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { openDatabase } from '../../src/db/connection/pool.ts';
import { deleteOldRoundsAcrossTenants, listLiveWorkersAcrossTenants } from '../../src/db/ledger/workers.ts';
import { listOldestDueAcrossTenants } from '../../src/db/operations/health.ts';
import { checkProcessQueue, isStuck, WorkerRounds } from '../../src/services/operations/backlog.ts';
import { runDoctorChecks } from '../../src/services/operations/doctor/doctor.ts';
import { ask } from '../support/api.ts';
import { createTestDatabase, silent, type TestDatabase, testConfig } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { runSql } from '../support/sql.ts';

let database: TestDatabase;
let api: Service;

beforeAll(async () => {
  database = await createTestDatabase();
  api = await startService(testConfig(database.url, { BELFRY_ROLE: 'api' }), silent);
  await repairClaims(database.url);
});
afterEach(async () => {
  await runSql(database.url, 'truncate occurrences, deliveries, worker_rounds');
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

/** Inserts an occurrence of a nonexistent organization that has been due for this many seconds. */
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
  (await runDoctorChecks(api.runtime.deps, Date.now())).find(({ name }) => name === 'queue')! as {
    ok: boolean;
    detail: string;
  };
const startWorker = () => startService(testConfig(database.url, { BELFRY_ROLE: 'worker' }), silent);

/** Makes every claim of an occurrence fail, in all workers, until `repairClaims`. */
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
async function repairClaims(url: string): Promise<void> {
  await runSql(url, 'drop trigger if exists refuse on occurrences');
}

describe('a process that only accepts triggers', () => {
  test('stays ready without workers, and reports how long the oldest work has been due', async () => {
    expect(await queueOf(api)).toMatchObject({
      status: 200,
      ok: true,
      detail: '0 triggers waiting to be stored; nothing is due; no worker is running',
    });
    await addDue(1_500);
    expect(await queueOf(api)).toMatchObject({
      status: 200,
      detail: expect.stringContaining('(normal priority) has waited 25 min; no worker is running'),
    });
  });
});

describe('a process with a worker', () => {
  test('is not ready while work has been due for longer than its priority allows', async () => {
    const worker = await startWorker();
    try {
      await breakClaims();
      await addDue(1_500);
      expect(await queueOf(worker)).toMatchObject({ status: 503, ok: false });
      expect((await queueOf(worker)).detail).toMatch(
        /\(normal priority\) has waited 25 min; .* not wait longer than 10 min: .*Add/,
      );
      expect((await queueOf(api)).status).toBe(200);
      await runSql(database.url, 'truncate occurrences');
      // Bulk work may wait.
      await addDue(1_500, 2);
      expect((await queueOf(worker)).status).toBe(200);
      await addDue(6 * 3_600 + 60, 2);
      expect((await queueOf(worker)).status).toBe(503);
    } finally {
      await repairClaims(database.url);
      await worker.stop();
    }
  });

  test('does not count failing rounds as finished', async () => {
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
      await repairClaims(database.url);
      await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(1));
    } finally {
      await repairClaims(database.url);
      await worker.stop();
    }
  });

  test('allows a minute since the last finished round', async () => {
    const { db } = api.runtime.deps;
    const rounds = new WorkerRounds(db, () => {}, 0);
    await expect(checkProcessQueue(db, rounds, 59_000)).resolves.toContain('finished a round 59 s ago');
    await expect(checkProcessQueue(db, rounds, 61_000)).rejects.toThrow('not finished a round for 61 s: check the log');
    rounds.recordRound(1, 61_000);
    await expect(checkProcessQueue(db, rounds, 62_000)).resolves.toContain('finished a round 1 s ago');
  });

  test('is stuck after five minutes without a finished round, if the database answers', async () => {
    const { db } = api.runtime.deps;
    const rounds = new WorkerRounds(db, () => {}, 0);
    expect(await isStuck({ db }, rounds, 299_000)).toBe(false);
    expect(await isStuck({ db }, rounds, 301_000)).toBe(true);
    const closed = openDatabase({ url: database.url, name: 'closed' });
    await closed.close();
    expect(await isStuck(closed, rounds, 301_000)).toBe(false);
  });

  test('stores a round every ten seconds, and tries again after a failure', async () => {
    const closed = openDatabase({ url: database.url, name: 'closed' });
    await closed.close();
    const errors: Error[] = [];
    const unsaved = new WorkerRounds(closed.db, error => errors.push(error), 0);
    for (const at of [10_000, 15_000, 19_999, 20_000]) unsaved.recordRound(1, at);
    await eventually(() => expect(errors).toHaveLength(2));
  });
});

describe('the doctor', () => {
  test('reports a missing worker only if work is waiting', async () => {
    expect(await doctored()).toMatchObject({ ok: true, detail: 'nothing is due; no worker is running' });
    await addDue(30);
    expect(await doctored()).toMatchObject({ ok: true });
    await addDue(90);
    const { ok, detail } = await doctored();
    expect([ok, detail]).toEqual([false, expect.stringMatching(/waited 9\d s; no worker is running: start one/)]);
  });

  test('counts running workers, and those without a finished round for a minute', async () => {
    const workers = [await startWorker(), await startWorker()];
    try {
      await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(2));
      expect(await doctored()).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^nothing is due; 2 workers are running, last round finished \d+ s ago$/),
      });
      await runSql(
        database.url,
        `update worker_rounds set finished_at = now() - interval '2 minutes'
         where worker_id = (select min(worker_id) from worker_rounds)`,
      );
      const { ok, detail } = await doctored();
      expect([ok, detail]).toEqual([
        false,
        expect.stringMatching(/1 of 2 running workers has not finished a round for 2 min/),
      ]);
    } finally {
      await Promise.all(workers.map(worker => worker.stop()));
    }
  });

  test('ignores workers that have exited', async () => {
    const { db } = api.runtime.deps;
    const rounds = new WorkerRounds(db, () => {}, 0);
    rounds.recordRound(4_711, 10_000);
    await eventually(async () => expect(await runSql(database.url, 'select * from worker_rounds')).toHaveLength(1));
    expect(await listLiveWorkersAcrossTenants(db)).toEqual([]);
    await deleteOldRoundsAcrossTenants(db, new Date(Date.now() + 1_000));
    expect(await runSql(database.url, 'select * from worker_rounds')).toEqual([]);
  });
});

describe('the age of the oldest due work', () => {
  test('is reported per priority, across organizations, occurrences and deliveries', async () => {
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
    const overdue = await listOldestDueAcrossTenants(api.runtime.deps.db);
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
      const overdue = await listOldestDueAcrossTenants(own.db);
      expect(overdue.map(({ priority }) => priority)).toEqual([0, 1, 2]);
      for (const { ms } of overdue) expect(ms).toBeGreaterThanOrEqual(19_990);
      expect((await fetched()) - before).toBeLessThan(200);
    } finally {
      await own.close();
    }
  });
});
