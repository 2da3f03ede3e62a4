/** Requests from a process of its own, as fast as they are answered. */
import { fork } from 'node:child_process';
import { on } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cleanEnv } from '../test/support/process.ts';
import { quantile } from './scenario.ts';

/** So many requests, not so many seconds: then nothing is under way at the end, and every answer is counted. */
export interface Job {
  /** The connections are spread over them. */
  origins: string[];
  /** Of the requests, in turns. */
  paths: string[];
  headers: Record<string, string>;
  /** In turns, as the paths. */
  bodies: string[];
  connections: number;
  amount: number;
}

export interface Outcome {
  perSecond: number;
  /** When the first request left, in ms since 1970. */
  beganAt: number;
  told: {
    errors: number;
    timeouts: number;
    non2xx: number;
    statusCodeStats: Record<string, { count: number }>;
    latency: { p50: number; p99: number; max: number };
  };
}

export interface Load {
  /** Tells of the last answer at once, and of everything once it has been summed up. */
  run(job: Job, answered?: () => void): Promise<Outcome>;
  close(): void;
}

const timeoutMs = 120_000;

export function openLoad(): Load {
  const client = fork(fileURLToPath(new URL('./load-client.ts', import.meta.url)), { env: cleanEnv({}) });
  return {
    async run(job, answered = () => {}) {
      client.send(job);
      for await (const [message] of on(client, 'message', { signal: AbortSignal.timeout(timeoutMs) })) {
        if (message.error) throw new Error(message.error);
        if (message.outcome) return message.outcome;
        answered();
      }
      throw new Error('the client of the load ended');
    },
    close: () => client.disconnect(),
  };
}

/** What is loaded, and what is looked at before and after each of its rounds. */
export interface Subject {
  job: Omit<Job, 'amount'>;
  /** Processor time so far, in ms, of each process that one wants to know about. */
  processors?: () => Promise<Record<string, number>>;
}

export interface Measured {
  perSecond: number;
  p99: number;
  /** Errors, and answers other than 201. */
  failed: number;
  /** Of all rounds with the warm-up, answered by 201. */
  created: number;
  /** For each request, in µs. */
  processors: Record<string, number>;
}

/**
 * So many rounds of each, by turns, since other work on the machine comes and goes. Whoever was last is first: what
 * changes steadily favours nobody.
 */
export async function byTurns<Result>(subjects: (() => Promise<Result>)[], rounds: number): Promise<Result[][]> {
  const results: Result[][] = subjects.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const order = [...subjects.entries()];
    for (const [i, measure] of round % 2 === 0 ? order : order.toReversed()) results[i]!.push(await measure());
  }
  return results;
}

/**
 * The figures of the round in which the ratio of the two is the median of all rounds. On a machine with other work two
 * equal databases were apart by 0.22 in a round (standard deviation): a ratio means nothing without its spread.
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
    spread: `the median of ${ratios.length} rounds by turns, half of them from ${low} to ${high}`,
  };
}

/** Two by turns; failures are those of all rounds. */
export async function compare(
  load: Load,
  subjects: readonly [Subject, Subject],
  { rounds, seconds, warmUp }: { rounds: number; seconds: number; warmUp: number },
): Promise<{ measured: [Measured, Measured]; spread: string }> {
  const measure = async ({ job, processors = async () => ({}) }: Subject, amount: number): Promise<Measured> => {
    const before: Record<string, number> = await processors();
    const { perSecond, told } = await load.run({ ...job, amount });
    const created = told.statusCodeStats['201']?.count ?? 0;
    return {
      perSecond,
      p99: told.latency.p99,
      failed: told.errors + (amount - created),
      created,
      processors: microsecondsEach(await processors(), before, amount),
    };
  };
  const warm = [await measure(subjects[0], warmUp), await measure(subjects[1], warmUp)];
  const rates = warm.map(({ perSecond }) => perSecond);
  const all = await byTurns(
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

/** Processor time in µs for each of so many, from readings in ms. */
export function microsecondsEach(
  after: Record<string, number>,
  before: Record<string, number>,
  amount: number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, ms]) => [name, ((ms - before[name]!) * 1_000) / amount]));
}
