/** One key triggers at 75 times its usual rate, beside nine ordinary organizations. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '../../test/support/eventually.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

const ordinary = Array.from({ length: 9 }, (_, n) => `ordinary${n}`);
const defaultPerSecond = 1;
const times = 75;
const maxHeldMs = 60_000;
const maxRatio = 1.5;
/** Each key, event and application is a month old and was triggered so often in its busiest hour. */
const remember = `
  with old as (
    update keys set created_at = now() - interval '30 days' returning organization_id, id as subject, 'key' as kind
  ), old_events as (
    update events set created_at = now() - interval '30 days' returning organization_id, id::text, 'event'
  ), old_applications as (
    update applications set created_at = now() - interval '30 days' returning organization_id, id::text, 'application'
  )
  insert into trigger_rates (organization_id, subject, kind, day, hour, hour_count, minute)
  select o.*, at, at, $1, at from (
    select * from old union all select * from old_events union all select * from old_applications
  ) o, (select date_trunc('day', now() - interval '2 days', 'UTC') as at) yesterday`;
// Messages that wait when the pause begins are held, too.
const countHeld = `
  select ((select count(*) from occurrences where due_at = 'infinity') + (select count(*) from deliveries where due_at = 'infinity'))::int as count`;
const countOpen = `select count(*)::int as count from occurrences where status in ('accepted', 'expanding') and due_at < 'infinity'`;

export const rateHeld: Scenario = {
  title: `one key triggers at ${times} times its usual rate for five minutes, beside ${ordinary.length} ordinary organizations`,
  async run(scenario, scale) {
    const isQuick = scale < 1;
    // A quick run does not wait for 1,200 triggers.
    const guard = { audience: 'off', ...(isQuick && { rate: 200 }) };
    const stage = await Stage.open({ recipients: 1, roles: ['api', 'api', 'worker'], organizations: ordinary, guard });
    const broken: string[] = [];
    const count = async (text: string) => (await runSql<{ count: number }>(stage.url, text))[0]!.count;
    const ask = async (path: string, body?: object) => {
      const response = await fetch(`${stage.alive('api')[0]!.address}/api/o/chaos/${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { authorization: `Key ${stage.key}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      return response.json();
    };
    const findPauses = () => ask('pauses/') as Promise<{ kind: string; id: string | null }[]>;
    try {
      await runSql(stage.url, remember, [3_600 * defaultPerSecond]);
      const measure = async (ms: number) => {
        const streams = ordinary.map(organization => startStream(stage, 2, { organization }));
        await sleep(ms);
        await Promise.all(streams.map(stream => stream.stop()));
        const tookMs = streams.flatMap(stream => stream.tookMs).sort((a, b) => a - b);
        return {
          accepted: streams.flatMap(stream => stream.accepted),
          p99: tookMs[Math.ceil(tookMs.length * 0.99) - 1]!,
        };
      };
      await measure(isQuick ? 500 : 20_000);
      const quiet = await measure(isQuick ? 1_000 : 60_000);
      const faultAt = Date.now();
      let turn = 0;
      // Each process sees a half.
      const address = () => stage.alive('api')[turn++ % 2]!.address;
      const noisy = startStream(stage, times * defaultPerSecond, { address });
      let heldAt: number | undefined;
      const noticing = waitFor('the guard', async () => (await findPauses()).length > 0, maxHeldMs).then(
        () => {
          heldAt = Date.now();
        },
        () => broken.push('nothing was held within a minute'),
      );
      const beside = await measure(isQuick ? 5_000 : 300_000);
      await noticing;
      await noisy.stop();
      if (beside.p99 > quiet.p99 * maxRatio && !isQuick)
        broken.push(`p99 of the others was ${beside.p99} ms, and ${quiet.p99} ms before`);
      const pauses = await findPauses();
      if (pauses.length !== 1 || pauses[0]!.kind !== 'key') broken.push(`paused: ${JSON.stringify(pauses)}`);
      await waitFor('everything else to be expanded', async () => (await count(countOpen)) === 0, 60_000);
      const held = await count(countHeld);
      if (held === 0) broken.push('no trigger was held');
      const decided = (await ask(`k/${pauses[0]?.id}/resume/`, { per_second: 1_000 })) as { released: number };
      if (decided.released !== held) broken.push(`${decided.released} were released, and ${held} were held`);
      console.log(
        `  held after ${(((heldAt ?? 0) - faultAt) / 1_000).toFixed(1)} s: ${held} of ${noisy.accepted.length}`,
      );
      console.log(`  p99 of the others: ${beside.p99} ms, before ${quiet.p99} ms`);
      return await stage.settle({
        scenario,
        accepted: [...noisy.accepted, ...beside.accepted],
        expectedToo: [],
        faultAt,
        broken,
        waitMs: 300_000,
      });
    } finally {
      await stage.close();
    }
  },
};
