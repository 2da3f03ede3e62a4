/** A database that is there, but does not do its work for a while. No process dies, so that no message may arrive twice. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openSilentProxy } from '../../test/support/silent-proxy.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { type Stream, startStream } from '../stream.ts';

const faultMs = 5_000;
/** A message of a trigger that is accepted after the fault must not take longer. */
const maxRecoveryMs = 20_000;

type Fault = (stage: Stage) => Promise<unknown>;

/** A fault that begins and ends during a stream of triggers. */
const unwell = (
  title: string,
  begin: Fault,
  end: Fault = async () => {},
  setUp?: (stage: Stage) => Promise<Fault>,
): Scenario => ({
  title,
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, roles: [] });
    let tearDown: Fault = async () => {};
    try {
      tearDown = (await setUp?.(stage)) ?? tearDown;
      await Promise.all([stage.start('api'), stage.start('worker')]);
      const stream = startStream(stage, 50);
      await sleep(3_000 * Math.max(scale, 0.5));
      const faultAt = Date.now();
      await begin(stage);
      await sleep(faultMs * Math.max(scale, 0.5));
      await end(stage);
      const faultOverAt = Date.now();
      await sleep(3_000 * Math.max(scale, 0.5));
      await stream.stop();
      const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt, faultOverAt });
      ledger.broken.push(...wrongStatuses(stream));
      const overMs = ledger.recovered_s * 1_000 - (faultOverAt - faultAt);
      if (overMs > maxRecoveryMs) ledger.broken.push(`the last message came ${Math.round(overMs)} ms after the fault`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
      await tearDown(stage);
    }
  },
});

/** A trigger is accepted, or refused with 503 so that the client tries again. */
function wrongStatuses({ statuses }: Stream): string[] {
  return [...statuses]
    .filter(([status]) => status !== 201 && status !== 503)
    .map(([status, count]) => `${count} triggers got ${status}`);
}

let proxy: Awaited<ReturnType<typeof openSilentProxy>>;

export const databaseSilent = unwell(
  'all connections to PostgreSQL go silent, as behind a firewall that has forgotten them; new ones work',
  async () => proxy.silence(),
  undefined,
  async stage => {
    proxy = await openSilentProxy(stage.url);
    stage.environment.DATABASE_URL = proxy.url;
    return () => proxy.close();
  },
);

const maxTriggerMs = 5_000;
const stallEveryMs = 3_000;

export const connectionStalls: Scenario = {
  title: 'a tenth of all connections to PostgreSQL goes silent, again and again',
  async run(scenario, scale) {
    const stage = await Stage.open({ recipients: 3, roles: [] });
    const stalling = await openSilentProxy(stage.url);
    try {
      stage.environment.DATABASE_URL = stalling.url;
      await Promise.all([stage.start('api'), stage.start('worker')]);
      const stream = startStream(stage, 50);
      await sleep(3_000 * scale);
      const faultAt = Date.now();
      while (Date.now() < faultAt + 60_000 * scale) {
        stalling.silence(10);
        await sleep(stallEveryMs);
      }
      await stream.stop();
      const ledger = await stage.settle({ scenario, accepted: stream.accepted, faultAt });
      ledger.broken.push(...wrongStatuses(stream));
      const p99 = stream.tookMs.sort((a, b) => a - b)[Math.floor(stream.tookMs.length * 0.99)]!;
      console.log(`  99 of 100 triggers were accepted within ${p99} ms (limit ${maxTriggerMs})`);
      if (p99 > maxTriggerMs) ledger.broken.push(`99 of 100 triggers took up to ${p99} ms`);
      return { ...ledger, pass: ledger.pass && ledger.broken.length === 0 };
    } finally {
      await stage.close();
      await stalling.close();
    }
  },
};

/** New sessions have the setting, and the old ones are ended, as they would be in a failover. */
const setReadOnly = (value: 'on' | 'off') => async (stage: Stage) => {
  await runSql(
    stage.url,
    `begin read write; alter role current_user set default_transaction_read_only = ${value}; commit`,
  );
  await runSql(
    stage.url,
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'belfry%' and pid <> pg_backend_pid()",
  );
};

export const databaseReadOnly = unwell(
  'PostgreSQL becomes read-only for a while, as after a failover to a standby',
  setReadOnly('on'),
  setReadOnly('off'),
);

let isCancelling = false;

export const statementsCancelled = unwell(
  'the statements of the service are cancelled again and again, as by a statement_timeout',
  async stage => {
    isCancelling = true;
    const cancelAll = `select pg_cancel_backend(pid) from pg_stat_activity
      where state = 'active' and application_name like 'belfry%' and pid <> pg_backend_pid()`;
    void (async () => {
      while (isCancelling) {
        await runSql(stage.url, cancelAll).catch(() => {});
        await sleep(10);
      }
    })();
  },
  async () => {
    isCancelling = false;
  },
);
