/**
 * What traces cost: the everyday message by a service without them, by one that has an endpoint and samples nothing, and by one
 * that samples everything and exports it to a collector on the same machine.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Contender, endToEnd, openBelfry, openEveryday, type Round } from './everyday.ts';
import { byTurns, medianRound, openLoad } from './load.ts';
import type { Row, Scenario } from './scenario.ts';
import { openPeer, residentMb, type Stage, until } from './stage.ts';

/** Accepted, expanded, delivered, rendered, sent and settled. */
const spansEach = 6;

export const traces: Scenario = {
  name: 'traces',
  summary:
    '4,000 (quick: 300) triggers with one recipient each without traces, with an endpoint and nothing sampled, and with everything sampled',
  async run({ quick, log }) {
    const [triggers, warmUp, rounds] = quick ? [300, 100, 1] : [4_000, 3_000, 15];
    const load = openLoad();
    const { peer, port } = await openPeer('./peer-collector.ts');
    const stages: Stage[] = [];
    const open = async (env: Record<string, string> = {}): Promise<Contender> => {
      const stage = await openEveryday();
      stages.push(stage);
      return openBelfry(stage, env);
    };
    try {
      const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` };
      const contenders = [
        await open(),
        await open({ ...endpoint, OTEL_TRACES_SAMPLER: 'always_off' }),
        await open({ ...endpoint, OTEL_TRACES_SAMPLER: 'always_on' }),
      ];
      for (const contender of contenders) await endToEnd(load, contender, 'named', warmUp);
      for (const stage of stages) await stage.sql.query('analyze');
      log(`${rounds} × ${triggers.toLocaleString('en')} triggers each`);
      const [without, unsampled, sampled] = await byTurns(
        contenders.map(contender => () => endToEnd(load, contender, 'named', triggers)),
        rounds,
      );
      const expected = spansEach * (warmUp + rounds * triggers);
      const exported = await settledSpans(peer, expected);
      const [off, , on] = await Promise.all(contenders.map(({ processes }) => residentMb(processes[0]!)));
      return [
        ...rowsOf('nothing sampled', unsampled!, without!, 1.1),
        ...rowsOf('everything sampled', sampled!, without!, 1.6),
        {
          measure: 'spans that reached the collector',
          value: exported,
          unit: 'spans',
          yardstick: expected,
          limit: { of: 'ratio', most: 1, ...(quick && { least: 1 }) },
          note: 'what comes faster than it can be exported is dropped',
        },
        { measure: 'resident memory, everything sampled', value: on!, unit: 'MB', yardstick: off! },
      ];
    } finally {
      load.close();
      peer.disconnect();
      await Promise.all(stages.map(stage => stage.close()));
    }
  },
};

/** Judged by processor time: of two equal services on a busy machine one was half as fast in a round, and cost the same. */
function rowsOf(which: string, own: Round[], without: Round[], most: number): Row[] {
  const perProcessor = (rounds: Round[]) =>
    rounds.map(round => ({ ...round, perSecond: 1_000_000 / round.processors.service! }));
  const { measured: cost, spread } = medianRound(perProcessor(own), perProcessor(without));
  const { measured: speed, spread: spreadOfSpeed } = medianRound(own, without);
  return [
    {
      measure: `processor time of the service for each, ${which}, beside no traces`,
      value: cost[0].processors.service!,
      unit: 'µs',
      yardstick: cost[1].processors.service!,
      limit: { of: 'ratio', most },
      note: `${spread}, of messages for each second of processor time`,
    },
    {
      measure: `one recipient each, ${which}, beside no traces`,
      value: speed[0].perSecond,
      unit: 'messages/s',
      yardstick: speed[1].perSecond,
      note: spreadOfSpeed,
    },
  ];
}

/** Once nothing more comes: exports follow within seconds. */
async function settledSpans(peer: ChildProcess, expected: number): Promise<number> {
  let last = -1;
  const ask = async () => {
    const answer = once(peer, 'message');
    peer.send('spans');
    return ((await answer)[0] as { spans: number }).spans;
  };
  const isSettled = async () => {
    const now = await ask();
    const isSame = now === last;
    last = now;
    return now >= expected || isSame;
  };
  await until('the last export', isSettled, 30_000, 2_500);
  if (last === 0) throw new Error('nothing was exported');
  if (last > expected) throw new Error(`${last} spans came of ${expected}`);
  return last;
}
