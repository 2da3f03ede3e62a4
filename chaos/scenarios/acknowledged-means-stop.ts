/**
 * Escalations of four runs each, of which every second one is acknowledged at a random moment, while workers are killed at
 * random ones. What was answered with 200 is the promise: nothing of that occurrence reaches anybody a second later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/process.ts';
import { findMistakes } from '../../test/support/sink-ledger.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger, Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const steps = [
  { channels: ['hooks'] },
  { after: '1s', unless: 'acknowledged', channels: ['hooks'] },
  { after: '1s', unless: 'acknowledged', channels: ['hooks'], repeat: 2 },
];
const runs = 4;
/** After the answer, for what a worker had in hand at that moment. */
const graceMs = 1_000;

export const acknowledgedMeansStop: Scenario = {
  title: 'kill -9 of workers while 500 escalations run and people acknowledge half of them',
  async run(scenario, scale) {
    const size = Math.round(500 * scale);
    const roles = ['api', 'worker', 'worker'] as const;
    const stage = await Stage.open({ recipients: 1, sinkMs: 20, roles: [...roles], notification: { steps } });
    try {
      const accepted: string[] = [];
      const answered = new Map<string, number>();
      const acknowledging: Promise<void>[] = [];
      const spreadMs = 6_000 * Math.max(scale, 0.5);
      const began = Date.now();
      let inHand = 0;
      const killing = (async () => {
        for (let kills = 0; kills < (scale < 1 ? 2 : 4); kills++) {
          await sleep(1_000 + Math.random() * 1_500);
          const [victim] = stage.alive('worker');
          await victim!.end('SIGKILL');
          inHand += (await stage.leftBehind()).keys.size;
          await stage.start('worker');
        }
      })();
      for (let n = 0; n < size; n++) {
        const occurrence = await triggerOnce(stage, n);
        if (!occurrence) continue;
        accepted.push(occurrence);
        if (n % 2 === 0) continue;
        acknowledging.push(
          sleep(Math.random() * spreadMs)
            .then(() => acknowledge(stage, occurrence))
            .then(at => void answered.set(occurrence, at)),
        );
      }
      await killing;
      await Promise.all(acknowledging);
      return await settle(stage, { scenario, accepted, answered, began, inHand });
    } finally {
      await stage.close();
    }
  },
};

/** When it was answered with 200. */
async function acknowledge(stage: Stage, occurrence: string): Promise<number> {
  return waitFor('an acknowledgement to be answered', async () => {
    const url = `${stage.alive('api')[0]!.address}/api/o/chaos/occurrence/${occurrence}/acknowledge/`;
    const response = await fetch(url, { method: 'POST', headers: { authorization: `Key ${stage.key}` } });
    await response.text();
    return response.status === 200 ? Date.now() : undefined;
  });
}

interface Facts {
  scenario: string;
  accepted: string[];
  answered: Map<string, number>;
  began: number;
  /** Messages that killed workers left behind, which may arrive once more. */
  inHand: number;
}

async function settle(stage: Stage, { scenario, accepted, answered, began, inHand }: Facts): Promise<Ledger> {
  const broken: string[] = [];
  await waitFor(
    'every escalation to end',
    async () => {
      const open = `select count(*)::int as open from occurrences where status <> 'completed'`;
      return (await runSql<{ open: number }>(stage.url, open))[0]!.open === 0;
    },
    120_000,
  ).catch(error => broken.push((error as Error).message));
  const received = await stage.received();
  const late = received.filter(one => one.at > (answered.get(one.occurrence) ?? Number.POSITIVE_INFINITY) + graceMs);
  if (late.length > 0) broken.push(`${late.length} messages were sent after their occurrence was acknowledged`);
  const mistakes = await findMistakes(stage.url);
  if (mistakes.length > 0) broken.push(`${mistakes.length} counts differ from their deliveries`);
  broken.push(...(await findBrokenRuns(stage, answered)));

  const arrived = new Map(received.map(one => [one.id, one]));
  const wanted = accepted.filter(occurrence => !answered.has(occurrence));
  const perOccurrence = Map.groupBy(arrived.values(), (one: Receipt) => one.occurrence);
  const delivered = wanted.reduce((sum, one) => sum + Math.min(runs, perOccurrence.get(one)?.length ?? 0), 0);
  const expected = wanted.length * runs;
  const twins = received.length - arrived.size;
  if (twins > inHand) broken.push(`${twins} messages arrived twice, and killed workers had ${inHand} in hand`);
  const more = [...perOccurrence.values()].filter(each => each.length > runs).length;
  if (more > 0) broken.push(`${more} escalations told more often than they have runs`);
  const seconds = (at: number) => Math.round((at - began) / 100) / 10;
  const lost = expected - delivered;
  return {
    scenario,
    accepted: accepted.length,
    expected,
    delivered,
    lost,
    twins,
    twins_allowed: inHand,
    resumed_s: seconds(received.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY)),
    recovered_s: seconds(received.reduce((most, { at }) => Math.max(most, at), began)),
    broken,
    pass: lost === 0 && broken.length === 0 && answered.size > 0 && expected > 0,
  };
}

/** A run that is missing between two others, that told more than one message, or that nobody ended. */
async function findBrokenRuns(stage: Stage, answered: Map<string, number>): Promise<string[]> {
  const rows = await runSql<{ id: string; numbers: number[]; done: number; told: number; deliveries: number }>(
    stage.url,
    `select s.occurrence_id as id, array_agg(s.number::int order by s.number) as numbers,
       count(*) filter (where s.status = 'done')::int as done, sum(s.told)::int as told,
       (select count(*)::int from deliveries d where d.organization_id = s.organization_id
         and d.occurrence_id = s.occurrence_id) as deliveries
     from steps s group by s.organization_id, s.occurrence_id`,
  );
  return rows.flatMap(({ id, numbers, done, told, deliveries }) => {
    const isContiguous = numbers.every((number, i) => number === i + 1);
    const isWhole = answered.has(id) || done === runs;
    if (isContiguous && isWhole && told === done && deliveries === done) return [];
    return [`${id}: runs ${numbers.join()}, ${done} done, ${told} told, ${deliveries} deliveries`];
  });
}
