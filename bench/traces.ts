/**
 * Measures the cost of traces: the everyday message with a service without traces, with one that has an endpoint but samples nothing,
 * and with one that samples everything and exports it to a collector on the same machine.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { type Contender, endToEnd, openBelfry, openEveryday, type Round } from './everyday.ts';
import { alternate, medianRound, openLoad } from './load.ts';
import type { Row, Scenario } from './scenario.ts';
import { openPeer, residentMb, type Stage, until } from './stage.ts';

/** accept, expand, deliver, render, send and settle. */
const spansEach = 6;

export const traces: Scenario = {
  name: 'traces',
  summary:
    '4,000 (quick: 300) triggers with one recipient each: without traces, with nothing sampled, and with everything sampled',
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
      const [without, unsampled, sampled] = await alternate(
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
          measure: 'spans received by the collector',
          value: exported,
          unit: 'spans',
          baseline: expected,
          limit: { of: 'ratio', max: 1, ...(quick && { min: 1 }) },
          note: 'spans that arrive faster than they can be exported are dropped',
        },
        { measure: 'resident memory, everything sampled', value: on!, unit: 'MB', baseline: off! },
      ];
    } finally {
      load.close();
      peer.disconnect();
      await Promise.all(stages.map(stage => stage.close()));
    }
  },
};

/** Limits CPU time: on a busy machine one of two equal services was half as fast in a round, but used as much CPU. */
function rowsOf(which: string, own: Round[], without: Round[], max: number): Row[] {
  const perProcessor = (rounds: Round[]) =>
    rounds.map(round => ({ ...round, perSecond: 1_000_000 / round.cpu.service! }));
  const { measured: cost, spread } = medianRound(perProcessor(own), perProcessor(without));
  const { measured: speed, spread: spreadOfSpeed } = medianRound(own, without);
  return [
    {
      measure: `CPU time of the service per message, ${which} (vs. no traces)`,
      value: cost[0].cpu.service!,
      unit: 'µs',
      baseline: cost[1].cpu.service!,
      limit: { of: 'ratio', max },
      note: `${spread}, of messages per second of CPU time`,
    },
    {
      measure: `one recipient each, ${which} (vs. no traces)`,
      value: speed[0].perSecond,
      unit: 'messages/s',
      baseline: speed[1].perSecond,
      note: spreadOfSpeed,
    },
  ];
}

/** Waits until no more spans arrive: exports follow within seconds. */
async function settledSpans(peer: ChildProcess, expected: number): Promise<number> {
  let last = -1;
  const countSpans = async () => {
    const reply = once(peer, 'message');
    peer.send('spans');
    return ((await reply)[0] as { spans: number }).spans;
  };
  const isSettled = async () => {
    const now = await countSpans();
    const isSame = now === last;
    last = now;
    return now >= expected || isSame;
  };
  await until('the last export', isSettled, 30_000, 2_500);
  if (last === 0) throw new Error('nothing was exported');
  if (last > expected) throw new Error(`${last} spans arrived instead of ${expected}`);
  return last;
}
