/**
 * Whether everyday triggers are worked off as fast where last month's are still on record as where there is nothing but
 * the configuration: the same to both by turns.
 */
import { type Contender, endToEnd, openBelfry, openEveryday } from './everyday.ts';
import { byTurns, medianRound, openLoad } from './load.ts';
import { autovacuumed, createMonths, fillCompleted } from './rows.ts';
import type { Row, Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';

/** On record before, in all. */
const whole = [
  { occurrences: 300_000, deliveries: 1_000_000 },
  { occurrences: 3_000_000, deliveries: 4_000_000 },
];

export const longHistory: Scenario = {
  name: 'history',
  summary:
    'everyday triggers among 300,000 and 3,000,000 (quick: a thousandth of them) of this month and the last, beside none',
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
      for (const { occurrences, deliveries } of whole) {
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
          for (const stage of stages) await autovacuumed(stage);
        }
        const [among, without] = await byTurns(
          contenders.map(contender => () => endToEnd(load, contender, 'named', triggers)),
          rounds,
        );
        const { measured, spread } = medianRound(among!, without!);
        const words = `among ${sizes.occurrences.toLocaleString('en')} occurrences`;
        rows.push(
          {
            measure: `one recipient each, ${words}`,
            value: measured[0].perSecond,
            unit: 'messages/s',
            yardstick: measured[1].perSecond,
            limit: { of: 'ratio', least: 0.9 },
            note: spread,
          },
          {
            measure: `processor time of PostgreSQL for each, ${words}`,
            value: measured[0].processors.database!,
            unit: 'µs',
            yardstick: measured[1].processors.database!,
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
