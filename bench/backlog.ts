/**
 * Measures whether a backlog of any size is processed at the same rate: occurrences with one recipient each that were accepted
 * while no worker was running.
 */
import { lowestUuidAt } from '../src/core/ids.ts';
import { openEveryday, openLedger } from './everyday.ts';
import { createMonths, fillAccepted } from './rows.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { cpuMs, postgresCpuMs, type Stage, until } from './stage.ts';

/** Messages until most of the code has been compiled. */
const warmUp = 3_000;
const timeoutMs = 600_000;

interface Drained {
  perSecond: number;
  /** CPU time per message, in µs. */
  worker: number;
  database: number;
}

export const backlog: Scenario = {
  name: 'backlog',
  summary: 'a worker that starts with a backlog of 5,000, 50,000 and 500,000 (quick: 1,500, 2,500 and 4,000) triggers',
  async run({ quick, log }) {
    const sizes = quick ? [1_500, 2_500, 4_000] : [5_000, 50_000, 500_000];
    const rounds = quick ? [1, 1, 1] : [5, 3, 1];
    const stage = await openEveryday();
    try {
      await createMonths(stage);
      const drained: Drained[][] = sizes.map(() => []);
      for (let round = 0; round < rounds[0]!; round++) {
        for (const [i, size] of sizes.entries()) {
          if (round >= rounds[i]!) continue;
          log(`${size.toLocaleString('en')} waiting`);
          drained[i]!.push(await drain(stage, size, quick ? 600 : warmUp));
        }
      }
      const medians = drained.map(each => {
        const perSecond = quantile(
          each.map(one => one.perSecond),
          0.5,
        );
        return each.find(one => one.perSecond === perSecond)!;
      });
      const [smallest] = medians;
      return medians.flatMap(({ perSecond, worker, database }, i): Row[] => {
        const label = `${sizes[i]!.toLocaleString('en')} waiting`;
        const rate: Row = {
          measure: label,
          value: perSecond,
          unit: 'messages/s',
          note: `median of ${rounds[i]}`,
          ...(i > 0 && { baseline: smallest!.perSecond, limit: { of: 'ratio', min: 0.85 } }),
        };
        return [
          rate,
          {
            measure: `${label}: CPU time per message`,
            value: worker + database,
            unit: 'µs',
            note: `${Math.round(worker)} µs of the worker, ${Math.round(database)} µs of PostgreSQL`,
            ...(i > 0 && { baseline: smallest!.worker + smallest!.database }),
          },
        ];
      });
    } finally {
      await stage.close();
    }
  },
};

/**
 * Starts a worker once the backlog exists. The first messages warm it up and do not count, nor do messages of the backlog that
 * it has sent by then.
 */
async function drain(stage: Stage, size: number, first: number): Promise<Drained> {
  const { sql } = stage;
  await sql.query('truncate occurrences, deliveries');
  const ledger = await openLedger(stage);
  const began = lowestUuidAt(Date.now());
  await fillAccepted(stage, first);
  // Identifiers of the same millisecond could belong to either part.
  await new Promise(resolve => setTimeout(resolve, 2));
  const since = lowestUuidAt(Date.now());
  await fillAccepted(stage, size);
  const worker = await stage.start('worker');
  const used = async () => ({ worker: await cpuMs(worker), database: await postgresCpuMs(sql) });
  await until(`${first} messages`, () => ledger.isSent(began, since), timeoutMs, 10);
  const [early, before] = [await ledger.countSent(since), await used()];
  const beganAt = performance.now();
  // Larger backlogs are checked less often, so that checking is not part of the measured work.
  await until(`${size} messages`, () => ledger.isSent(since), timeoutMs, Math.max(20, size / 5_000));
  const seconds = (performance.now() - beganAt) / 1_000;
  const after = await used();
  const sent = await ledger.countSent(since);
  if (sent !== size) throw new Error(`${sent} of ${size} messages are recorded as sent`);
  const counted = size - early;
  if (counted <= 0) throw new Error(`all ${size} were sent together with the first ${first}`);
  await worker.end('SIGTERM');
  return {
    perSecond: counted / seconds,
    worker: ((after.worker - before.worker) * 1_000) / counted,
    database: ((after.database - before.database) * 1_000) / counted,
  };
}
