/** Runs commands of the CLI inside this process: starting the program takes half a second of CPU time. */
import { vi } from 'vitest';
import { connecting } from '../../src/db/connection/pool.ts';
import { cleanEnv, type Finished } from './process.ts';

let last: Promise<unknown> = Promise.resolve();

/** Returns what `belfry` in process.ts would. Commands wait for each other, because the process has one environment and one output. */
export function command(args: string[], env: Record<string, string>): Promise<Finished> {
  const finished = last.then(() => runHere(args, env));
  last = finished.catch(() => {});
  return finished;
}

async function runHere(args: string[], env: Record<string, string>): Promise<Finished> {
  const [before, { timeoutMs }] = [{ ...process.env }, connecting];
  const printed: string[] = [];
  const warned: string[] = [];
  const printing = vi.spyOn(console, 'log').mockImplementation(text => void printed.push(`${text}\n`));
  const warning = vi.spyOn(console, 'error').mockImplementation(text => void warned.push(`${text}\n`));
  setEnvironment(cleanEnv(env));
  try {
    const { run } = await import('../../src/run.ts');
    const code = await run(args);
    return { code, stdout: printed.join(''), stderr: warned.join('') };
  } finally {
    setEnvironment(before);
    connecting.timeoutMs = timeoutMs;
    printing.mockRestore();
    warning.mockRestore();
  }
}

function setEnvironment(env: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
}
