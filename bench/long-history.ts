/**
 * Measures whether everyday triggers are processed as fast in a database with last month's history as in one that only has the
 * configuration. Both get the same triggers in alternation.
 */
import { type Contender, endToEnd, openBelfry, openEveryday } from './everyday.ts';
import { alternate, medianRound, openLoad } from './load.ts';
import { createMonths, fillCompleted, waitForAutovacuum } from './rows.ts';
import type { Row, Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

/** Total history before each measurement. */
const fullSizes = [
  { occurrences: 300_000, deliveries: 1_000_000 },
  { occurrences: 3_000_000, deliveries: 4_000_000 },
];

export const longHistory: Scenario = {
  name: 'history',
  summary:
    'everyday triggers with 300,000 and 3,000,000 stored occurrences (quick: a thousandth) of this month and the last, vs. none',
  async run({ quick, log }) {
    const [triggers, warmUp, rounds] = quick ? [300, 100, 1] : [10_000, 3_000, 9];
    const load = openLoad();
    const stages: Stage[] = [];
    try {
      const contenders: Contender[] = [];
      for (let i = 0; i < 2; i++) {
        const stage = await openEveryday();
        stages.push(stage);
        await createMonths(stage);
        contenders.push(await openBelfry(stage));
      }
      const [full] = stages;
      const rows: Row[] = [];
      let before = { occurrences: 0, deliveries: 0 };
      for (const { occurrences, deliveries } of fullSizes) {
        const sizes = quick
          ? { occurrences: occurrences / 1_000, deliveries: deliveries / 1_000 }
          : { occurrences, deliveries };
        const added = {
          occurrences: sizes.occurrences - before.occurrences,
          deliveries: sizes.deliveries - before.deliveries,
        };
        before = sizes;
        log(`adds ${added.occurrences} occurrences with ${added.deliveries} deliveries`);
        await fillCompleted(full!, added.occurrences, added.deliveries);
        for (const { sql } of stages) await sql.query('checkpoint');
        for (const contender of contenders) await endToEnd(load, contender, 'named', warmUp);
        if (!quick) {
          log('waits for autovacuum');
          for (const stage of stages) await waitForAutovacuum(stage);
        }
        const [among, without] = await alternate(
          contenders.map(contender => () => endToEnd(load, contender, 'named', triggers)),
          rounds,
        );
        const { measured, spread } = medianRound(among!, without!);
        const label = `with ${sizes.occurrences.toLocaleString('en')} stored occurrences`;
        rows.push(
          {
            measure: `one recipient each, ${label}`,
            value: measured[0].perSecond,
            unit: 'messages/s',
            baseline: measured[1].perSecond,
            limit: { of: 'ratio', min: 0.9 },
            note: spread,
          },
          {
            measure: `CPU time of PostgreSQL per message, ${label}`,
            value: measured[0].cpu.database!,
            unit: 'µs',
            baseline: measured[1].cpu.database!,
          },
        );
      }
      return rows;
    } finally {
      load.close();
      await Promise.all(stages.map(stage => stage.close()));
    }
  },
};
