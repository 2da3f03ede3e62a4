/**
 * Whether a trigger is stored as fast where years of use have left their rows as where there is nothing but the
 * configuration: the same triggers, spread over many events, to both by turns.
 */
import type pg from 'pg';
import { compare, openLoad, type Subject } from './load.ts';
import { fill, openVolume } from './pages.ts';
import type { Scenario } from './scenario.ts';
import { postgresMs, processorMs, type Stage } from './stage.ts';
import { countOccurrences, pathOf, requireStored, triggerJob } from './triggers.ts';
import { fillConfiguration, scaled, whole } from './volume.ts';

const deliveries = 10_000_000;
const events = 1_000;

export const crowded: Scenario = {
  name: 'crowded',
  summary: `triggers to 1,000 of 10,000 events, with 1,000,000 users and 10,000,000 deliveries (quick: a hundredth of them), beside none`,
  async run({ quick, log }) {
    const part = quick ? 0.01 : 1;
    const sizes = { ...scaled(part), events: whole.events, deliveries: deliveries * part };
    const load = openLoad();
    const stages: Stage[] = [];
    try {
      const full = await openVolume();
      stages.push(full);
      const empty = await openVolume();
      stages.push(empty);
      await fill(full, sizes, log);
      await fillConfiguration(empty.sql, sizes);
      // Neither has yet to tidy up or write what the filling left behind.
      await empty.sql.query('vacuum analyze');
      for (const { sql } of stages) await sql.query('checkpoint');
      const before = await Promise.all(stages.map(({ sql }) => countOccurrences(sql)));
      const paths = await somePaths(full.sql);
      const [crowd, alone] = [await subject(full, paths), await subject(empty, paths)];
      const settings = quick ? { rounds: 2, seconds: 0.7, warmUp: 3_000 } : { rounds: 25, seconds: 2, warmUp: 20_000 };
      const { measured, spread } = await compare(load, [crowd, alone], settings);
      for (const [i, { created }] of measured.entries()) await requireStored(stages[i]!.sql, created, before[i]!);
      const [among, without] = measured;
      return [
        {
          measure: `triggers among ${sizes.deliveries.toLocaleString('en')} deliveries`,
          value: among.perSecond,
          unit: '/s',
          yardstick: without.perSecond,
          limit: { of: 'ratio', least: 0.9 },
          note: `over ${paths.length} events in turns; ${spread}`,
        },
        {
          measure: 'triggers that failed among them',
          value: among.failed + without.failed,
          unit: '',
          limit: { of: 'value', most: 0 },
        },
        {
          measure: 'processor time of PostgreSQL for each among them',
          value: among.processors.database!,
          unit: 'µs',
          yardstick: without.processors.database!,
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
    processors: async () => ({
      api: await processorMs(api),
      database: await postgresMs(stage.sql),
    }),
  };
}

/** From all over the organization; the other database has the same. */
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
