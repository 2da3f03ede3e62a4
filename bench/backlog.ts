/**
 * Whether what has piled up is worked off at the same pace, however much it is: occurrences with one recipient each that
 * were accepted while no worker was there.
 */
import { lowestUuidAt } from '../src/core/ids.ts';
import { openEveryday, openLedger } from './everyday.ts';
import { createMonths, fillAccepted } from './rows.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { postgresMs, processorMs, type Stage, until } from './stage.ts';

/** Until most of it has been compiled. */
const warmUp = 3_000;
const timeoutMs = 600_000;

interface Drained {
  perSecond: number;
  /** For each, in µs. */
  worker: number;
  database: number;
}

export const backlog: Scenario = {
  name: 'backlog',
  summary: 'a worker that finds 5,000, 50,000 and 500,000 (quick: 1,500, 2,500 and 4,000) triggers waiting',
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
      const [fewest] = medians;
      return medians.flatMap(({ perSecond, worker, database }, i): Row[] => {
        const words = `${sizes[i]!.toLocaleString('en')} waiting`;
        const rate: Row = {
          measure: words,
          value: perSecond,
          unit: 'messages/s',
          note: `the median of ${rounds[i]}`,
          ...(i > 0 && { yardstick: fewest!.perSecond, limit: { of: 'ratio', least: 0.85 } }),
        };
        return [
          rate,
          {
            measure: `${words}: processor time for each`,
            value: worker + database,
            unit: 'µs',
            note: `${Math.round(worker)} µs of the worker, ${Math.round(database)} µs of PostgreSQL`,
            ...(i > 0 && { yardstick: fewest!.worker + fewest!.database }),
          },
        ];
      });
    } finally {
      await stage.close();
    }
  },
};

/**
 * By a worker that is started when all is there. The first ones warm it up and do not count; what it has finished of the
 * others by then does not either.
 */
async function drain(stage: Stage, size: number, first: number): Promise<Drained> {
  const { sql } = stage;
  await sql.query('truncate occurrences, deliveries');
  const ledger = await openLedger(stage);
  const began = lowestUuidAt(Date.now());
  await fillAccepted(stage, first);
  // Identifiers of the same millisecond would belong to either.
  await new Promise(resolve => setTimeout(resolve, 2));
  const since = lowestUuidAt(Date.now());
  await fillAccepted(stage, size);
  const worker = await stage.start('worker');
  const used = async () => ({ worker: await processorMs(worker), database: await postgresMs(sql) });
  await until(`${first} messages`, () => ledger.isSent(began, since), timeoutMs, 10);
  const [early, before] = [await ledger.countSent(since), await used()];
  const beganAt = performance.now();
  // The longer it takes, the less often: to look must not be part of the work.
  await until(`${size} messages`, () => ledger.isSent(since), timeoutMs, Math.max(20, size / 5_000));
  const seconds = (performance.now() - beganAt) / 1_000;
  const after = await used();
  const sent = await ledger.countSent(since);
  if (sent !== size) throw new Error(`${sent} of ${size} messages are on record as sent`);
  const counted = size - early;
  if (counted <= 0) throw new Error(`all of ${size} were sent together with the first ${first}`);
  await worker.end('SIGTERM');
  return {
    perSecond: counted / seconds,
    worker: ((after.worker - before.worker) * 1_000) / counted,
    database: ((after.database - before.database) * 1_000) / counted,
  };
}
