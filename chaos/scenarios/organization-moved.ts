/**
 * Moves an organization between two cells, back and forth, and kills the command at random moments. Clients follow the new
 * address, as they do behind a proxy whose map lags behind.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { waitFor } from '../../test/support/eventually.ts';
import { belfry, cleanEnv, type Running, root, startBelfry } from '../../test/support/process.ts';
import { findMistakes } from '../../test/support/sink-ledger.ts';
import { runSql } from '../../test/support/sql.ts';
import type { Scenario } from '../scenario.ts';
import { secretKey } from '../set-up.ts';
import { Stage } from '../stage.ts';
import { startStream } from '../stream.ts';

interface Cell {
  url: string;
  key: string;
  address: string;
}

const slug = 'chaos';
const kills = 10;
const targetKey = 'another secret of at least 32 characters';
/** From before the command has connected to after it has given the organization away. */
const killAfterMs = { min: 500, max: 3_500 };

export const organizationMoved: Scenario = {
  title: 'an organization moves to another cell during a stream, and the command is killed at random moments',
  async run(scenario, scale) {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'belfry-cell-'));
    const database = await openEmbedded({ dataDir, durable: true });
    const stage = await Stage.open({ recipients: 2, sinkMs: 20, roles: ['all'] });
    let other: Running | undefined;
    try {
      const env = { BELFRY_CELL: '2', BELFRY_SECRET_KEY: targetKey, BELFRY_SECRET_KEY_PREVIOUS: secretKey };
      other = await startBelfry({ DATABASE_URL: database.url, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8', ...env });
      const cells: [Cell, Cell] = [
        { url: stage.url, key: secretKey, address: stage.alive('all')[0]!.address },
        { url: database.url, key: targetKey, address: other.address },
      ];
      return await moveBackAndForth(scenario, Math.max(3, Math.round(kills * scale)), stage, cells);
    } finally {
      await other?.end('SIGKILL');
      await stage.close();
      await database.release();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};

async function moveBackAndForth(scenario: string, times: number, stage: Stage, [first, second]: [Cell, Cell]) {
  let [owner, next] = [first, second];
  const broken: string[] = [];
  const watch = watchOwners([first, second], broken);
  const stream = startStream(stage, 60, { address: () => owner.address });
  await sleep(1_000);
  const faultAt = Date.now();
  // The command may have been killed before it could note that the organization has arrived.
  const complete = async () => {
    await run(owner, next, ['--to', next.address]);
    [owner, next] = [next, owner];
    await run(next, owner, ['--forget']);
  };
  let killed = 0;
  for (let aborts = 0; killed < times; ) {
    const command = start(owner, next);
    const ended = once(command, 'exit');
    const { min, max } = killAfterMs;
    await Promise.race([ended, sleep(min + Math.random() * (max - min))]);
    if (command.exitCode === null) {
      command.kill('SIGKILL');
      await ended;
      killed++;
    } else if (command.exitCode !== 0) broken.push(`a move ended with ${command.exitCode}`);
    if (await hasArrived(next)) await complete();
    // One that was killed after the organization had left cannot be aborted, only continued.
    else if (Math.random() < 0.3 && aborts++ < times && !(await hasLeft(owner))) await run(owner, next, ['--abort']);
  }
  await complete();
  await sleep(1_000);
  await stream.stop();
  await waitForEnd(owner.url);
  await watch.stop();
  const mistakes = await findMistakes(owner.url);
  if (mistakes.length > 0) broken.push(`${mistakes.length} counts differ from their deliveries`);
  const slowest = Math.max(...stream.tookMs);
  console.log(
    `  killed ${killed} times; a trigger took at most ${(slowest / 1_000).toFixed(1)} s with all repetitions`,
  );
  return stage.settle({ scenario, accepted: stream.accepted, faultAt, broken, ownerUrl: owner.url });
}

const environment = (from: Cell, to: Cell) => ({
  DATABASE_URL: from.url,
  BELFRY_SECRET_KEY: from.key,
  // What was sealed before an earlier move is sealed again, but links keep the key that signed them.
  BELFRY_SECRET_KEY_PREVIOUS: to.key,
  BELFRY_TARGET_DATABASE_URL: to.url,
  BELFRY_TARGET_SECRET_KEY: to.key,
});

function start(from: Cell, to: Cell): ChildProcess {
  const program = [path.join(root, 'bin/belfry.js'), 'organization', 'move', slug, '--to', to.address];
  return spawn(process.execPath, program, {
    env: cleanEnv(environment(from, to)),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function run(from: Cell, to: Cell, args: string[]): Promise<void> {
  const { code, stderr } = await belfry(['organization', 'move', slug, ...args], environment(from, to));
  if (code !== 0) throw new Error(`belfry organization move ${args.join(' ')} exited with ${code}: ${stderr}`);
}

async function stateOf({ url }: Cell): Promise<string | undefined> {
  const text = 'select state from organization_moves where slug = $1';
  return (await runSql<{ state: string }>(url, text, [slug]))[0]?.state;
}

const hasArrived = async (cell: Cell) => (await stateOf(cell)) === 'arrived';
const hasLeft = async (cell: Cell) => ['moved', 'left'].includes((await stateOf(cell)) ?? '');

/** Notes every moment at which both cells may send. Of two reads, the one that can only become less goes last. */
function watchOwners([first, second]: [Cell, Cell], broken: string[]) {
  let isWatching = true;
  const sends = (state: string | undefined, isHome: boolean) =>
    state === 'arrived' || state === 'copying' || (state === undefined && isHome);
  const watching = (async () => {
    while (isWatching) {
      const before = await stateOf(first);
      const other = await stateOf(second);
      const after = await stateOf(first);
      const both = [before, after].every(state => sends(state, true)) && sends(other, false);
      if (both) broken.push(`both cells sent: ${before}, ${other}, ${after}`);
      await sleep(20);
    }
  })().catch(error => broken.push(`the cells could not be watched: ${error}`));
  return {
    stop: async () => {
      isWatching = false;
      await watching;
    },
  };
}

async function waitForEnd(url: string): Promise<void> {
  const text = `select (select count(*) from occurrences where status <> 'completed')
    + (select count(*) from deliveries where status = any('{pending,sending,retrying}')) as open`;
  await waitFor(
    'everything to be sent',
    async () => Number((await runSql<{ open: string }>(url, text))[0]!.open) === 0,
    90_000,
  );
}
