/** Requests from a process of its own, as fast as they are answered. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
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
  body: string;
  connections: number;
  amount: number;
}

export interface Outcome {
  perSecond: number;
  told: {
    errors: number;
    timeouts: number;
    non2xx: number;
    statusCodeStats: Record<string, { count: number }>;
    latency: { p50: number; p99: number; max: number };
  };
}

export interface Load {
  run(job: Job): Promise<Outcome>;
  close(): void;
}

const patienceMs = 120_000;

export function openLoad(): Load {
  const client = fork(fileURLToPath(new URL('./load-client.ts', import.meta.url)), { env: cleanEnv({}) });
  return {
    async run(job) {
      client.send(job);
      const [{ outcome, error }] = await once(client, 'message', { signal: AbortSignal.timeout(patienceMs) });
      if (error) throw new Error(error);
      return outcome;
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
 * The two by turns, since other work on the machine comes and goes. The figures of both are those of the round in which
 * their ratio is the median of all rounds; failures are those of all. On a machine with other work two equal databases
 * were apart by 0.22 in a round (standard deviation): a ratio means nothing without its spread.
 */
export async function compare(
  load: Load,
  subjects: readonly [Subject, Subject],
  { rounds, seconds, warmUp }: { rounds: number; seconds: number; warmUp: number },
): Promise<{ measured: [Measured, Measured]; spread: string }> {
  const measure = async ({ job, processors = async () => ({}) }: Subject, amount: number): Promise<Measured> => {
    const before: Record<string, number> = await processors();
    const { perSecond, told } = await load.run({ ...job, amount });
    const used = Object.entries(await processors()).map(([name, ms]) => [
      name,
      ((ms - before[name]!) * 1_000) / amount,
    ]);
    const created = told.statusCodeStats['201']?.count ?? 0;
    return {
      perSecond,
      p99: told.latency.p99,
      failed: told.errors + (amount - created),
      created,
      processors: Object.fromEntries(used),
    };
  };
  const all: Measured[][] = [[], []];
  for (const [i, subject] of subjects.entries()) all[i]!.push(await measure(subject, warmUp));
  for (let round = 0; round < rounds; round++) {
    // Whoever was last is first: what changes steadily favours neither.
    for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const amount = Math.ceil(all[i]!.at(-1)!.perSecond * seconds);
      all[i]!.push(await measure(subjects[i]!, amount));
    }
  }
  const ratioOf = (round: number) => all[0]![round]!.perSecond / all[1]![round]!.perSecond;
  const counted = Array.from({ length: rounds }, (_, i) => i + 1);
  const ratios = counted.map(ratioOf);
  const median = quantile(ratios, 0.5);
  const chosen = counted.find(round => ratioOf(round) === median)!;
  const sum = (results: Measured[], name: 'failed' | 'created') =>
    results.reduce((total, result) => total + result[name], 0);
  const [low, high] = [0.25, 0.75].map(part => quantile(ratios, part).toFixed(2));
  const measured = [0, 1].map(i => ({
    ...all[i]![chosen]!,
    failed: sum(all[i]!, 'failed'),
    created: sum(all[i]!, 'created'),
  })) as [Measured, Measured];
  return { measured, spread: `the median of ${rounds} rounds by turns, half of them from ${low} to ${high}` };
}
