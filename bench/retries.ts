/** Measures what messages that wait for a retry cost: the same service without any, and with 20,000 of them, in one run. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { lowestUuidAt } from '../src/core/ids.ts';
import type { Scenario } from './scenario.ts';
import { cpuMs, openStage, postgresCpuMs } from './stage.ts';

const waiting = 20_000;

export const retries: Scenario = {
  name: 'retries',
  summary: '20,000 messages that wait for a retry, for 20 s (quick: 3 s): CPU time and statements, compared with none',
  async run({ quick, log }) {
    const seconds = quick ? 3 : 20;
    const stage = await openStage([], []);
    try {
      const service = await stage.start('all');
      log('waits for the service to settle');
      await sleep(quick ? 1_000 : 15_000);
      const read = async () => ({
        service: await cpuMs(service),
        postgres: await postgresCpuMs(stage.sql),
        statements: await countStatements(stage.sql),
      });
      const measure = async () => {
        const began = performance.now();
        const before = await read();
        await sleep(seconds * 1_000);
        const after = await read();
        const elapsed = (performance.now() - began) / 1_000;
        const perSecond = (name: keyof typeof before) => (after[name] - before[name]) / elapsed;
        return { service: perSecond('service'), postgres: perSecond('postgres'), statements: perSecond('statements') };
      };
      log(`measures for ${seconds} s without any`);
      const none = await measure();
      await addWaiting(stage.sql);
      // Writing the rows wakes PostgreSQL's own processes for a while.
      await stage.sql.query('checkpoint');
      await sleep(quick ? 1_000 : 5_000);
      log(`measures for ${seconds} s with ${waiting}`);
      const many = await measure();
      const { rows } = await stage.sql.query<{ count: number }>(
        `select count(*)::int as count from deliveries where status = 'retrying' and attempts = 9`,
      );
      if (rows[0]!.count !== waiting) throw new Error(`${rows[0]!.count} messages are waiting`);
      return [
        {
          measure: 'statements per second',
          value: many.statements,
          unit: '',
          baseline: none.statements,
          limit: { of: 'ratio', max: 1.2 },
          note: 'the baseline is the same service without waiting messages',
        },
        {
          measure: 'CPU time of the service per second',
          value: many.service,
          unit: 'ms',
          baseline: none.service,
          limit: { of: 'ratio', max: 1.5 },
        },
        { measure: 'CPU time of PostgreSQL per second', value: many.postgres, unit: 'ms', baseline: none.postgres },
      ];
    } finally {
      await stage.close();
    }
  },
};

async function countStatements(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `select pg_stat_clear_snapshot(), (xact_commit + xact_rollback)::int as count
     from pg_stat_database where datname = current_database()`,
  );
  return rows[0]!.count;
}

/** Adds messages that have failed for an hour and are due again in half an hour to an hour and a half. */
async function addWaiting(sql: pg.Client): Promise<void> {
  await sql.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status, reason,
       priority, attempts, provider_attempts, due_at, retry_since)
     select o.id, $1, 1, 1, 1, i, i || '@x.test', 'retrying', 'provider.failed', 1, 9, 9,
       now() + interval '30 minutes' + random() * interval '1 hour', now() - interval '1 hour'
     from organizations o, generate_series(1, $2::int) i where o.slug = 'bench'`,
    [lowestUuidAt(Date.now()), waiting],
  );
  await sql.query('analyze deliveries');
}
