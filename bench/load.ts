/** Sends requests from a separate process, as fast as they are answered. */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cleanEnv } from '../test/support/process.ts';
import { quantile } from './scenario.ts';

/** A number of requests rather than seconds, so that nothing is in flight at the end and every response counts. */
export interface Job {
  /** Connections are spread over these origins. */
  origins: string[];
  /** Paths of the requests, used in rotation. */
  paths: string[];
  headers: Record<string, string>;
  /** Bodies of the requests, used in rotation; `uniqueMark` in them is another text in each request. */
  bodies: string[];
  connections: number;
  amount: number;
}

export const uniqueMark = '[unique]';

export interface Outcome {
  perSecond: number;
  /** When the first request was sent, in ms since the epoch. */
  beganAt: number;
  stats: {
    errors: number;
    timeouts: number;
    non2xx: number;
    statusCodeStats: Record<string, { count: number }>;
    latency: { p50: number; p99: number; max: number };
  };
}

export interface Load {
  /** Runs the job; `onLastResponse` is called before the statistics are complete. */
  run(job: Job, onLastResponse?: () => void): Promise<Outcome>;
  close(): void;
}

const timeoutMs = 120_000;

export function openLoad(): Load {
  const client = fork(fileURLToPath(new URL('./load-client.ts', import.meta.url)), { env: cleanEnv({}) });
  return {
    async run(job, onLastResponse = () => {}) {
      client.send(job);
      for await (const [message] of on(client, 'message', { signal: AbortSignal.timeout(timeoutMs) })) {
        if (message.error) throw new Error(message.error);
        if (message.outcome) return message.outcome;
        onLastResponse();
      }
      throw new Error('the load client exited');
    },
    close: () => client.disconnect(),
  };
}

/** What is put under load, and what is read before and after each of its rounds. */
export interface Subject {
  job: Omit<Job, 'amount'>;
  /** Of a response that counts. Default: 201. */
  status?: number;
  /** Returns the CPU time so far of each process of interest, in ms. */
  cpu?: () => Promise<Record<string, number>>;
}

export interface Measured {
  perSecond: number;
  p99: number;
  /** Errors, and responses with another status. */
  failed: number;
  /** Responses that count in all rounds, including the warm-up. */
  created: number;
  /** CPU time per request, in µs. */
  cpu: Record<string, number>;
}

/**
 * Runs the subjects in alternation, because other work on the machine comes and goes. The order is reversed every round, so that
 * a steady change favors none of them.
 */
export async function alternate<Result>(subjects: (() => Promise<Result>)[], rounds: number): Promise<Result[][]> {
  const results: Result[][] = subjects.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const order = [...subjects.entries()];
    for (const [i, measure] of round % 2 === 0 ? order : order.toReversed()) results[i]!.push(await measure());
  }
  return results;
}

/**
 * Returns the results of the round whose ratio is the median of all rounds. On a busy machine, the ratio of two equal databases
 * had a standard deviation of 0.22, so a ratio is meaningless without its spread.
 */
export function medianRound<Result extends { perSecond: number }>(
  ours: Result[],
  theirs: Result[],
): { measured: [Result, Result]; spread: string } {
  const ratios = ours.map(({ perSecond }, round) => perSecond / theirs[round]!.perSecond);
  const chosen = ratios.indexOf(quantile(ratios, 0.5));
  const [low, high] = [0.25, 0.75].map(part => quantile(ratios, part).toFixed(2));
  return {
    measured: [ours[chosen]!, theirs[chosen]!],
    spread: `median of ${ratios.length} alternating rounds, half of them between ${low} and ${high}`,
  };
}

/** Compares two subjects in alternation; failures are counted over all rounds. */
export async function compare(
  load: Load,
  subjects: readonly [Subject, Subject],
  { rounds, seconds, warmUp }: { rounds: number; seconds: number; warmUp: number },
): Promise<{ measured: [Measured, Measured]; spread: string }> {
  const measure = async ({ job, status = 201, cpu = async () => ({}) }: Subject, amount: number): Promise<Measured> => {
    const before: Record<string, number> = await cpu();
    const { perSecond, stats } = await load.run({ ...job, amount });
    const created = stats.statusCodeStats[status]?.count ?? 0;
    return {
      perSecond,
      p99: stats.latency.p99,
      failed: stats.errors + (amount - created),
      created,
      cpu: cpuPerItem(await cpu(), before, amount),
    };
  };
  const warm = [await measure(subjects[0], warmUp), await measure(subjects[1], warmUp)];
  const rates = warm.map(({ perSecond }) => perSecond);
  const all = await alternate(
    subjects.map((subject, i) => async () => {
      const result = await measure(subject, Math.ceil(rates[i]! * seconds));
      rates[i] = result.perSecond;
      return result;
    }),
    rounds,
  );
  const { measured, spread } = medianRound(all[0]!, all[1]!);
  const sum = (i: number, name: 'failed' | 'created') =>
    [warm[i]!, ...all[i]!].reduce((total, result) => total + result[name], 0);
  const totals = measured.map((result, i) => ({ ...result, failed: sum(i, 'failed'), created: sum(i, 'created') }));
  return { measured: totals as [Measured, Measured], spread };
}

/** Returns the CPU time per item in µs, from readings in ms. */
export function cpuPerItem(
  after: Record<string, number>,
  before: Record<string, number>,
  amount: number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ((ms - before[name]!) * 1_000) / amount]));
}
