/**
 * The machine of the database is lost, and its standby becomes the primary. The service has both addresses. No process of it
 * dies, so that only messages that are being sent at that moment may arrive twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { signalDatabase } from '../../test/support/process.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger } from '../ledger.ts';
import { openPair, type Pair } from '../pair.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

/** Accepting and sending must go on this soon after the standby has become the primary. */
const maxGapMs = 15_000;
/** How long an operator or a cluster manager takes to notice. */
const noticeMs = 2_000;

type Fault = (pair: Pair) => Promise<unknown>;

const primaryLost = (title: string, fail: Fault, isSynchronous = true): Scenario => ({
  title,
  async run(scenario, scale) {
    let pair: Pair | undefined;
    const openDatabase = async (folder: string) => {
      pair = await openPair(folder, isSynchronous);
      return pair;
    };
    const stage = await Stage.open({ recipients: 3, roles: ['api', 'worker', 'worker'], openDatabase });
    try {
      const stream = startStream(stage, 50);
      await sleep(5_000 * scale);
      const faultAt = Date.now();
      await fail(pair!);
      await sleep(noticeMs);
      await pair!.promote();
      const movedAt = Date.now();
      const leftBehind = await stage.leftBehind();
      await sleep(maxGapMs * Math.max(scale, 0.5));
      await stream.stop();
      const stored = await storedOf(stage.url, stream.accepted);
      const accepted = stream.accepted.filter(each => stored.has(each));
      const forgotten = stream.accepted.length - accepted.length;
      const times = { faultAt, faultOverAt: movedAt };
      const ledger = await stage.settle({ scenario, accepted, leftBehind, ...times });
      if (isSynchronous) ledger.lost += forgotten * stage.recipients.length;
      else describeLoss(ledger, forgotten);
      const afterMove = [...stream.acceptedAt.values()].filter(at => at > movedAt).sort((a, b) => a - b);
      const gapMs = {
        accepting: (afterMove[0] ?? Infinity) - movedAt,
        sending: ledger.resumed_s * 1_000 - (movedAt - faultAt),
      };
      for (const [what, ms] of Object.entries(gapMs)) {
        if (ms > maxGapMs) ledger.broken.push(`${what} resumed ${ms} ms after the standby had become the primary`);
      }
      console.log(
        `  after the standby became the primary: accepting ${gapMs.accepting} ms, sending ${gapMs.sending} ms`,
      );
      return { ...ledger, pass: ledger.lost === 0 && ledger.broken.length === 0 && ledger.expected > 0 };
    } finally {
      await stage.close();
    }
  },
});

/** A standby that was behind has neither the last triggers nor the record of messages that were just sent. */
function describeLoss(ledger: Ledger, forgotten: number): void {
  console.log(
    `  ${forgotten} accepted triggers had not reached the standby and are lost with the primary, as is the record of ` +
      `${ledger.duplicates} messages, which were sent again`,
  );
  ledger.duplicates_explained = ledger.duplicates;
  ledger.broken = ledger.broken.filter(each => !/arrived (again with a different id|more often)/.test(each));
}

async function storedOf(url: string, occurrences: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await runSql<{ id: string }>(url, 'select id from occurrences where id = any($1)', [occurrences]);
  return new Set(rows.map(({ id }) => id));
}

export const primaryKilled = primaryLost(
  'the primary is killed, and its synchronous standby takes over',
  ({ primary }) => signalDatabase(primary.dataDir, 'SIGKILL'),
);

export const primarySilent = primaryLost(
  'the primary falls silent without closing a connection, and its synchronous standby takes over',
  ({ primary }) => signalDatabase(primary.dataDir, 'SIGSTOP'),
);

export const primaryReadOnly = primaryLost(
  'the primary becomes read-only with its connections open, and its synchronous standby takes over',
  async ({ primary }) => {
    await primary.sql('alter system set default_transaction_read_only = on');
    await primary.sql('select pg_reload_conf()');
  },
);

export const standbyBehind = primaryLost(
  'the primary is killed while its asynchronous standby is a second behind',
  async ({ primary, standby }) => {
    await standby.sql("alter system set primary_conninfo = ''");
    await standby.sql('select pg_reload_conf()');
    await sleep(1_000);
    await signalDatabase(primary.dataDir, 'SIGKILL');
  },
  false,
);
