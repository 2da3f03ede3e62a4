/**
 * Measures whether triggers are stored as fast in a database with years of data as in one that only has the configuration. Both
 * get the same triggers, spread over many events, in alternation.
 */
import type pg from 'pg';
import { compare, openLoad, type Subject } from './load.ts';
import { fill, openVolume } from './pages.ts';
import type { Scenario } from './scenario.ts';
import { cpuMs, postgresCpuMs, type Stage } from './stage.ts';
import { countOccurrences, pathOf, requireStored, triggerJob } from './triggers.ts';
import { fillConfiguration, fullSizes, scaled } from './volume.ts';

const deliveries = 10_000_000;
const events = 1_000;

export const crowded: Scenario = {
  name: 'crowded',
  summary: `triggers to 1,000 of 10,000 events, with 1,000,000 users and 10,000,000 deliveries (quick: a hundredth), vs. an empty database`,
  async run({ quick, log }) {
    const part = quick ? 0.01 : 1;
    const sizes = { ...scaled(part), events: fullSizes.events, deliveries: deliveries * part };
    const load = openLoad();
    const stages: Stage[] = [];
    try {
      const full = await openVolume();
      stages.push(full);
      const empty = await openVolume();
      stages.push(empty);
      await fill(full, sizes, log);
      await fillConfiguration(empty.sql, sizes);
      // Neither database should still have to vacuum or write what the setup left behind.
      await empty.sql.query('vacuum analyze');
      for (const { sql } of stages) await sql.query('checkpoint');
      const before = await Promise.all(stages.map(({ sql }) => countOccurrences(sql)));
      const paths = await somePaths(full.sql);
      const [crowdedSubject, emptySubject] = [await subject(full, paths), await subject(empty, paths)];
      const settings = quick ? { rounds: 2, seconds: 0.7, warmUp: 3_000 } : { rounds: 25, seconds: 2, warmUp: 20_000 };
      const { measured, spread } = await compare(load, [crowdedSubject, emptySubject], settings);
      for (const [i, { created }] of measured.entries()) await requireStored(stages[i]!.sql, created, before[i]!);
      const [among, without] = measured;
      return [
        {
          measure: `triggers with ${sizes.deliveries.toLocaleString('en')} stored deliveries`,
          value: among.perSecond,
          unit: '/s',
          baseline: without.perSecond,
          limit: { of: 'ratio', min: 0.9 },
          note: `spread over ${paths.length} events; ${spread}`,
        },
        {
          measure: 'failed triggers',
          value: among.failed + without.failed,
          unit: '',
          limit: { of: 'value', max: 0 },
        },
        {
          measure: 'CPU time of PostgreSQL per trigger',
          value: among.cpu.database!,
          unit: 'µs',
          baseline: without.cpu.database!,
        },
      ];
    } finally {
      load.close();
      await Promise.all(stages.map(stage => stage.close()));
    }
  },
};

async function subject(stage: Stage, paths: string[]): Promise<Subject> {
  const api = await stage.start('api');
  return {
    job: triggerJob(stage, [api.address], paths),
    cpu: async () => ({
      api: await cpuMs(api),
      database: await postgresCpuMs(stage.sql),
    }),
  };
}

/** Returns event paths from the fullSizes organization; the other database has the same ones. */
async function somePaths(sql: pg.Client): Promise<string[]> {
  const { rows } = await sql.query<{ event: string; project: string; application: string }>(
    `select e.slug as event, p.slug as project, a.slug as application
     from events e
     join applications a on a.organization_id = e.organization_id and a.id = e.application_id
     join projects p on p.organization_id = e.organization_id and p.id = a.project_id
     where e.organization_id = (select id from organizations where slug = 'bench')
     order by md5(e.slug || a.id) limit $1`,
    [events],
  );
  return rows.map(({ event, project, application }) => pathOf(event, project, application));
}
