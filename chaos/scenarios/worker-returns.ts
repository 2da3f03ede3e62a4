/**
 * A worker that is silent for a while and comes back: meanwhile, another one takes over. What was with the receiver at that
 * moment may arrive twice, because its outcome was not on record; nothing else may.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { openSilentProxy, type SilentProxy } from '../../test/support/silent-proxy.ts';
import { runSql } from '../../test/support/sql.ts';
import { keyOf } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { type LeftBehind, Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const recipients = 400;
/** With 32 messages at a time, the fan-out takes a minute. */
const sinkMs = 5_000;
const awayMs = 40_000;
/** Within which another worker must have sent something. */
const maxTakeoverMs = 30_000;
/** The keep-alives of PostgreSQL end the session of a vanished client. */
const serverTimeoutMs = 15_000;

interface Fault {
  begin(pid: number, proxy: SilentProxy): Promise<void>;
  end?(pid: number, proxy: SilentProxy): void;
}

const freeze = async (pid: number) => {
  process.kill(pid, 'SIGSTOP');
};
const wake = (pid: number) => {
  process.kill(pid, 'SIGCONT');
};
const cutOff = async (_: number, proxy: SilentProxy) => {
  proxy.freeze();
  await sleep(serverTimeoutMs);
  proxy.endSilent();
};
const reconnect = (_: number, proxy: SilentProxy) => proxy.thaw();

export const workerFrozen = absence('a worker is frozen with SIGSTOP while it sends, and never woken', {
  begin: freeze,
});

export const workerWoken = absence('a worker is frozen with SIGSTOP while it sends, and woken 40 seconds later', {
  begin: freeze,
  end: wake,
});

export const workerVanished = absence('a worker is frozen and cut off from PostgreSQL, and comes back', {
  begin: async (pid, proxy) => {
    await freeze(pid);
    await cutOff(pid, proxy);
  },
  end: (pid, proxy) => {
    reconnect(pid, proxy);
    wake(pid);
  },
});

export const workerCutOff = absence('a worker is cut off from PostgreSQL, and only from it, for 40 seconds', {
  begin: cutOff,
  end: reconnect,
});

function absence(title: string, { begin, end }: Fault): Scenario {
  return {
    title,
    async run(scenario) {
      const stage = await Stage.open({ recipients, sinkMs, roles: ['api'] });
      const proxy = await openSilentProxy(stage.url);
      try {
        stage.environment.DATABASE_URL = proxy.url;
        const victim = await stage.start('worker');
        delete stage.environment.DATABASE_URL;
        // Held still until the first one has claimed everything.
        const other = await stage.start('worker');
        process.kill(other.process.pid!, 'SIGSTOP');
        const accepted = [(await triggerOnce(stage, 0))!];
        await waitFor('messages in flight', async () => (await stage.count()) >= 32);
        process.kill(other.process.pid!, 'SIGCONT');
        const owners = `select distinct owner from deliveries where status = 'sending'`;
        const [owner] = await runSql<{ owner: number }>(stage.url, owners);
        const faultAt = Date.now();
        const began = begin(victim.process.pid!, proxy);
        await sleep(500);
        const leftBehind = await listUnrecorded(stage);
        await began;
        const takenOverIn = await waitForTakeover(stage, owner!.owner, faultAt);
        const broken = takenOverIn <= maxTakeoverMs ? [] : [`taken over only after ${takenOverIn / 1_000} s`];
        await sleep(Math.max(0, faultAt + awayMs - Date.now()));
        end?.(victim.process.pid!, proxy);
        const ledger = await stage.settle({ scenario, accepted, faultAt, leftBehind, broken, waitMs: 120_000 });
        console.log(`  taken over after ${takenOverIn / 1_000} s; ${ledger.duplicates} arrived twice`);
        return ledger;
      } finally {
        await stage.close();
        await proxy.close();
      }
    },
  };
}

/** Returns the messages that had arrived and whose outcome is not on record. */
async function listUnrecorded(stage: Stage): Promise<LeftBehind> {
  const open = await runSql<{ occurrence: string; recipient: string }>(
    stage.url,
    `select d.occurrence_id as occurrence, u.email as recipient
     from deliveries d join users u on u.organization_id = d.organization_id and u.id = d.user_id
     where d.status <> 'sent'`,
  );
  return { keys: new Set(open.map(keyOf)), at: Date.now() };
}

/** Waits until the worker has lost what it had claimed, and returns how long after the fault. */
async function waitForTakeover(stage: Stage, owner: number, faultAt: number): Promise<number> {
  const kept = `select from deliveries where status = 'sending' and owner = $1 limit 1`;
  const isTakenOver = async () => (await runSql(stage.url, kept, [owner])).length === 0;
  await waitFor('the other worker to take over', isTakenOver, 2 * maxTakeoverMs).catch(() => {});
  return Date.now() - faultAt;
}
