/**
 * Runs escalations with four runs each. Every second one is acknowledged at a random moment, while workers are killed at random
 * moments. More than a second after an acknowledgement got its 200, no message of that occurrence may arrive.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
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
/** Time after the response for messages that a worker was sending at that moment. */
export const graceMs = 1_000;

export const acknowledgedMeansStop: Scenario = {
  title: 'workers are killed with kill -9 while 500 escalations run and half of them are acknowledged',
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
      let claimedByKilled = 0;
      const killing = (async () => {
        for (let kills = 0; kills < (scale < 1 ? 2 : 4); kills++) {
          await sleep(1_000 + Math.random() * 1_500);
          const [victim] = stage.alive('worker');
          await victim!.end('SIGKILL');
          claimedByKilled += (await stage.leftBehind()).keys.size;
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
      return await settle(stage, { scenario, accepted, answered, began, claimedByKilled });
    } finally {
      await stage.close();
    }
  },
};

/** Returns the time of the 200 response. */
export async function acknowledge(stage: Stage, occurrence: string): Promise<number> {
  return waitFor('an acknowledgement to be accepted', async () => {
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
  /** Messages that killed workers left behind and that may arrive again. */
  claimedByKilled: number;
}

async function settle(stage: Stage, { scenario, accepted, answered, began, claimedByKilled }: Facts): Promise<Ledger> {
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
  const unacknowledged = accepted.filter(occurrence => !answered.has(occurrence));
  const perOccurrence = Map.groupBy(arrived.values(), (one: Receipt) => one.occurrence);
  const delivered = unacknowledged.reduce((sum, one) => sum + Math.min(runs, perOccurrence.get(one)?.length ?? 0), 0);
  const expected = unacknowledged.length * runs;
  const duplicates = received.length - arrived.size;
  if (duplicates > claimedByKilled)
    broken.push(`${duplicates} messages arrived twice, but killed workers had claimed only ${claimedByKilled}`);
  const more = [...perOccurrence.values()].filter(each => each.length > runs).length;
  if (more > 0) broken.push(`${more} escalations sent more messages than they have runs`);
  const seconds = (at: number) => Math.round((at - began) / 100) / 10;
  const lost = expected - delivered;
  return {
    scenario,
    accepted: accepted.length,
    expected,
    delivered,
    lost,
    duplicates,
    duplicates_explained: claimedByKilled,
    resumed_s: seconds(received.reduce((first, { at }) => Math.min(first, at), Number.POSITIVE_INFINITY)),
    recovered_s: seconds(received.reduce((last, { at }) => Math.max(last, at), began)),
    broken,
    pass: lost === 0 && broken.length === 0 && answered.size > 0 && expected > 0,
  };
}

/** Finds escalations with a skipped run, a run that sent more than one message, or a run that never ended. */
async function findBrokenRuns(stage: Stage, answered: Map<string, number>): Promise<string[]> {
  const rows = await runSql<{ id: string; numbers: number[]; done: number; notified: number; deliveries: number }>(
    stage.url,
    `select s.occurrence_id as id, array_agg(s.number::int order by s.number) as numbers,
       count(*) filter (where s.status = 'done')::int as done, sum(s.messages)::int as notified,
       (select count(*)::int from deliveries d where d.organization_id = s.organization_id
         and d.occurrence_id = s.occurrence_id) as deliveries
     from steps s group by s.organization_id, s.occurrence_id`,
  );
  return rows.flatMap(({ id, numbers, done, notified, deliveries }) => {
    const isContiguous = numbers.every((number, i) => number === i + 1);
    const isComplete = answered.has(id) || done === runs;
    if (isContiguous && isComplete && notified === done && deliveries === done) return [];
    return [`${id}: runs ${numbers.join()}, ${done} done, ${notified} notified, ${deliveries} deliveries`];
  });
}
