/**
 * Measures what a second process of each role adds on one PostgreSQL. With few cores it adds little, because processes, database and
 * clients share them. There is no limit; the figure is for comparing machines.
 */
import { availableParallelism } from 'node:os';
import pg from 'pg';
import { addMembers, event, runFanOut, sandbox } from './fan-out.ts';
import { compare, openLoad } from './load.ts';
import type { Scenario } from './scenario.ts';
import { openStage, type Stage } from './stage.ts';
import { pathOf, requireStored, triggerJob } from './triggers.ts';

/** Occurrences at a time: workers share the messages of an occurrence, but only one of them expands it. */
const occurrences = 4;

export const scaleOut: Scenario = {
  name: 'scale-out',
  summary: 'two API and two worker processes on one PostgreSQL, vs. one of each',
  async run({ quick }) {
    const size = quick ? 2_000 : 25_000;
    const warmUp = 1_000;
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const load = openLoad();
    const stage = await openStage([sandbox], [event('all'), event('few')], { distribution_lists }).catch(error => {
      load.close();
      throw error;
    });
    try {
      const [first, second] = [await stage.start('api'), await stage.start('api')];
      const subjectOf = (origins: string[]) => ({ job: triggerJob(stage, origins, [pathOf('few')]) });
      const { measured, spread } = await compare(
        load,
        [subjectOf([first.address, second.address]), subjectOf([first.address])],
        quick ? { rounds: 2, seconds: 0.7, warmUp: 3_000 } : { rounds: 9, seconds: 3, warmUp: 20_000 },
      );
      const [two, one] = measured;
      await requireStored(stage.sql, two.created + one.created);
      // Only the first half needs these occurrences.
      await stage.sql.query('truncate occurrences');
      await addMembers(stage.sql, 'all', size);
      await addMembers(stage.sql, 'few', warmUp);

      const fanned = async () => {
        await runFanOut(stage, first.address, 'few', warmUp);
        return fanSeveral(stage, [first.address, second.address], size);
      };
      await stage.start('worker');
      const before = await fanned();
      const helper = await stage.start('worker');
      const together = await fanned();
      await helper.end('SIGTERM');
      // Again with one worker, because other work on the machine comes and goes.
      const after = await fanned();

      const note = `on ${availableParallelism()} cores, shared with PostgreSQL and the clients`;
      return [
        {
          measure: 'triggers to two API processes',
          value: two.perSecond,
          unit: '/s',
          baseline: one.perSecond,
          note: `${spread}; ${note}`,
        },
        {
          measure: 'failed triggers in both setups',
          value: two.failed + one.failed,
          unit: '',
          limit: { of: 'value', max: 0 },
        },
        {
          measure: 'fan-out by two workers',
          value: together,
          unit: 'deliveries/s',
          baseline: (before + after) / 2,
          note: `${occurrences} occurrences of ${size.toLocaleString('en')} recipients, measured once; ${note}`,
        },
      ];
    } finally {
      load.close();
      await stage.close();
    }
  },
};

/** Returns deliveries per second of several occurrences at once. */
async function fanSeveral(stage: Stage, addresses: string[], size: number): Promise<number> {
  const watchers = Array.from({ length: occurrences }, () => new pg.Client({ connectionString: stage.url }));
  try {
    await Promise.all(watchers.map(sql => sql.connect()));
    const began = performance.now();
    const each = watchers.map((sql, i) => runFanOut({ ...stage, sql }, addresses[i % addresses.length]!, 'all', size));
    await Promise.all(each);
    return (size * occurrences) / ((performance.now() - began) / 1_000);
  } finally {
    await Promise.all(watchers.map(sql => sql.end()));
  }
}
