/**
 * Acknowledges escalations for ten seconds each, and kills workers while the acknowledgements end. Nothing may be sent again before its
 * acknowledgement has ended; then each occurrence escalates again within 30 seconds, once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { findMistakes } from '../../test/support/sink-ledger.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Ledger, Receipt } from '../ledger.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { triggerOnce } from '../stream.ts';

const expiresMs = 10_000;
/** Within this time after its acknowledgement has ended, an occurrence escalates again. */
const againMs = 30_000;
/** Each escalates once before its acknowledgement and once after it. */
const rounds = 2;
const killEveryMs = 3_000;
/** Acknowledgements in flight. */
const atOnce = 5;

export const acknowledgementsExpire: Scenario = {
  title: 'workers are killed with kill -9 while the acknowledgements of 500 escalations expire',
  async run(scenario, scale) {
    const size = Math.round(500 * scale);
    const notification = {
      steps: [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }],
      acknowledgement_expires: `${expiresMs / 1_000}s`,
    };
    const stage = await Stage.open({ recipients: 1, sinkMs: 20, roles: ['api', 'worker', 'worker'], notification });
    try {
      const accepted: string[] = [];
      for (let n = 0; n < size; n++) {
        const occurrence = await triggerOnce(stage, n);
        if (occurrence) accepted.push(occurrence);
      }
      await waitFor(
        'the first messages',
        async () => (await stage.received()).length >= accepted.length || undefined,
        60_000,
      );
      const ends = new Map<string, number>();
      let claimedByKilled = 0;
      let isOver = false;
      const killing = (async () => {
        while (!isOver) {
          await sleep(killEveryMs * (0.5 + Math.random()));
          const [victim] = stage.alive('worker');
          await victim!.end('SIGKILL');
          claimedByKilled += (await stage.leftBehind()).keys.size;
          await stage.start('worker');
        }
      })();
      // Spread, so that the acknowledgements end while workers are killed.
      const began = Date.now();
      const left = [...accepted];
      const acknowledgeAll = async () => {
        for (let one = left.pop(); one !== undefined; one = left.pop()) {
          ends.set(one, await acknowledge(stage, one));
          await sleep((Math.random() * 2 * expiresMs * atOnce) / size);
        }
      };
      await Promise.all(Array.from({ length: atOnce }, acknowledgeAll));
      const last = Math.max(...ends.values());
      await waitFor(
        'every occurrence to escalate again',
        async () => new Set((await stage.received()).map(({ id }) => id)).size >= rounds * accepted.length || undefined,
        last + 2 * againMs - Date.now(),
      ).catch(() => {});
      isOver = true;
      await killing;
      return await settle(stage, { scenario, accepted, ends, began, claimedByKilled });
    } finally {
      await stage.close();
    }
  },
};

/**
 * Returns when the acknowledgement ends. A request that fails is repeated only if it has not acknowledged anything: later, it would be
 * another acknowledgement.
 */
async function acknowledge(stage: Stage, occurrence: string): Promise<number> {
  return waitFor('an acknowledgement to be stored', async () => {
    const url = `${stage.alive('api')[0]!.address}/api/o/chaos/occurrence/${occurrence}/acknowledge/`;
    const response = await fetch(url, { method: 'POST', headers: { authorization: `Key ${stage.key}` } });
    await response.text();
    const text = `select until from responses where occurrence_id = $1 and kind = 'acknowledged'`;
    return (await runSql<{ until: Date }>(stage.url, text, [occurrence]))[0]?.until.getTime();
  });
}

interface Facts {
  scenario: string;
  accepted: string[];
  /** When the acknowledgement of each occurrence ends. */
  ends: Map<string, number>;
  began: number;
  /** Messages that killed workers left behind and that may arrive again. */
  claimedByKilled: number;
}

async function settle(stage: Stage, { scenario, accepted, ends, began, claimedByKilled }: Facts): Promise<Ledger> {
  const broken: string[] = [];
  const received = await stage.received();
  const first = new Map<string, Receipt>();
  for (const one of received) if (!first.has(one.id) || one.at < first.get(one.id)!.at) first.set(one.id, one);
  const messages = Map.groupBy(first.values(), ({ occurrence }) => occurrence);
  let delivered = 0;
  let resumedMs = 0;
  let [early, late, more] = [0, 0, 0];
  for (const occurrence of accepted) {
    const [, again, ...others] = (messages.get(occurrence) ?? []).toSorted((a, b) => a.at - b.at);
    const end = ends.get(occurrence)!;
    if (!again) continue;
    delivered++;
    if (again.at < end) early++;
    if (again.at > end + againMs) late++;
    if (others.length > 0) more++;
    resumedMs = Math.max(resumedMs, again.at - end);
  }
  if (early > 0) broken.push(`${early} occurrences escalated again before their acknowledgement ended`);
  if (late > 0) broken.push(`${late} occurrences escalated again more than ${againMs / 1_000} s after it`);
  if (more > 0) broken.push(`${more} occurrences escalated again more than once`);
  const duplicates = received.length - first.size;
  if (duplicates > claimedByKilled)
    broken.push(`${duplicates} messages arrived twice, but killed workers had claimed only ${claimedByKilled}`);
  const expired = await runSql<{ occurrences: number; responses: number }>(
    stage.url,
    `select count(distinct occurrence_id)::int as occurrences, count(*)::int as responses from responses where kind = 'expired'`,
  );
  const { occurrences, responses } = expired[0]!;
  if (occurrences !== accepted.length || responses !== occurrences)
    broken.push(`${responses} acknowledgements of ${occurrences} occurrences are recorded as expired`);
  const mistakes = await findMistakes(stage.url);
  if (mistakes.length > 0) broken.push(`${mistakes.length} counts differ from their deliveries`);
  const lastAt = received.reduce((last, { at }) => Math.max(last, at), began);
  const lost = accepted.length - delivered;
  return {
    scenario,
    accepted: accepted.length,
    expected: accepted.length,
    delivered,
    lost,
    duplicates,
    duplicates_explained: claimedByKilled,
    resumed_s: Math.round(resumedMs / 100) / 10,
    recovered_s: Math.round((lastAt - began) / 100) / 10,
    broken,
    pass: lost === 0 && broken.length === 0 && accepted.length > 0,
  };
}
