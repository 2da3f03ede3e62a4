/**
 * Follows a guide as a reader would: its code blocks in order, in one shell, in a temporary folder. In a guide,
 *
 * - "Save this as `NAME`" before a block writes it to that file;
 * - `sh`, `ts`, `python` and `sql` blocks are run, and each command must succeed;
 * - a `text` block is the output of the block before it, in which `…` stands for anything;
 * - `json` and `yaml` blocks must be valid.
 *
 * A comment before a block says what else a reader would do:
 *
 *     <!-- not run: REASON -->
 *     <!-- exits with an error -->              the commands of the block must fail
 *     <!-- in another terminal -->              runs the block until the end of the guide
 *     <!-- printed in the other terminal -->    the output is that of the block above
 *     <!-- into orders.yaml, below: LINE -->    inserts the block below that line of the file, as far indented
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse as parseYaml } from 'yaml';
import { eventually, waitFor } from './eventually.ts';
import { cleanEnv, root } from './process.ts';

/** Several times what the slowest block takes on a busy machine: only what hangs reaches it. */
const maxBlockMs = 180_000;

export interface Block {
  language: string;
  text: string;
  /** Line number of its fence. */
  line: number;
  saveAs: string | undefined;
  /** The comment right before it, without its marks. */
  comment: string;
}

export interface Surroundings {
  /** What the reader's shell has set. */
  env: Record<string, string>;
  /** Names and addresses in the guide, and what they are here. */
  replace: Record<string, string>;
  /** Folders that precede PATH. */
  path: string[];
  /** A service that the reader has started before, in the folder of the guide. */
  service?: string | undefined;
  runSql(text: string): Promise<unknown>;
  /** Runs after the last block, while programs in other terminals are still running. */
  check?(): Promise<void>;
}

export function readBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let end = 0;
  for (const match of markdown.matchAll(/^( *)```(\w*)\n(.*?)^\1```$/gms)) {
    const [all, indent = '', language = '', text = ''] = match;
    const before = markdown.slice(end, match.index);
    end = match.index + all.length;
    blocks.push({
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: markdown.slice(0, match.index).split('\n').length,
      saveAs: [...before.matchAll(/\bsave\s+(?:this|it)\s+as\s+`([^`]+)`/gi)].at(-1)?.[1],
      comment: /<!-- ([^>]*) -->\s*$/.exec(before)?.[1] ?? '',
    });
  }
  return blocks;
}

/** Throws with the line of the guide and the output when a block fails. */
export async function followGuide(file: string, surroundings: Surroundings): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'belfry-guide-'));
  const shell = await openShell(folder, surroundings);
  try {
    if (surroundings.service) {
      await shell.start(surroundings.service);
      await waitFor('the service to listen', () => shell.otherOutput().includes('listens on'), 120_000);
    }
    for (const block of readBlocks(await readFile(path.join(root, file), 'utf8'))) {
      if (block.comment.startsWith('not run: ')) continue;
      try {
        await runBlock(block, folder, shell, surroundings);
      } catch (error) {
        throw new Error(`${file}:${block.line}: ${(error as Error).message}`);
      }
    }
    await surroundings.check?.();
  } finally {
    await shell.end();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runBlock(block: Block, folder: string, shell: Shell, { replace, runSql }: Surroundings): Promise<void> {
  const { language, saveAs, comment } = block;
  const text = Object.entries(replace).reduce((one, [from, to]) => one.replaceAll(from, to), block.text);
  const [, target, line] = /^into (\S+), below: (.*)$/.exec(comment) ?? [];
  if (target) return insert(path.join(folder, target), line!, text);
  if (saveAs) return writeFile(path.join(folder, saveAs), text);
  switch (language) {
    case 'sh':
      if (comment === 'exits with an error') return shell.runFailing(text);
      return comment === 'in another terminal' ? shell.start(text) : shell.run(text);
    case 'ts':
      await writeFile(path.join(folder, 'program.ts'), text);
      return shell.run('node program.ts');
    case 'python':
      await writeFile(path.join(folder, 'program.py'), text);
      return shell.run('python3 program.py');
    case 'sql':
      return void (await runSql(text));
    case 'text':
      if (comment === 'printed in the other terminal')
        return eventually(() => compare(shell.otherOutput(), text), 60_000);
      return compare(shell.output(), text);
    case 'json':
      return void JSON.parse(text);
    case 'yaml':
      return void parseYaml(text);
    default:
      throw new Error(`a block of "${language}" cannot be run: mark it with <!-- not run: REASON -->`);
  }
}

const escapeRegExp = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Throws unless the expected lines follow each other somewhere in the output. */
function compare(output: string, expected: string): void {
  const pattern = expected.trim().split('…').map(escapeRegExp).join('.*');
  if (!new RegExp(pattern, 's').test(output)) throw new Error(`printed\n${output}\ninstead of\n${expected}`);
}

async function insert(file: string, below: string, text: string): Promise<void> {
  const content = await readFile(file, 'utf8');
  const [line, indent] = new RegExp(`^( *)${escapeRegExp(below)}\\n`, 'm').exec(content) ?? [];
  if (line === undefined) throw new Error(`${path.basename(file)} has no line "${below}"`);
  await writeFile(
    file,
    content.replace(line, () => line + text.replaceAll(/^(?=.)/gm, indent!)),
  );
}

interface Shell {
  run(text: string): Promise<void>;
  runFailing(text: string): Promise<void>;
  /** Starts a program that runs until the end. */
  start(text: string): Promise<void>;
  /** Standard output of the last block. */
  output(): string;
  /** Everything that the program started last has printed. */
  otherOutput(): string;
  end(): Promise<void>;
}

async function openShell(folder: string, { env, path: folders }: Surroundings): Promise<Shell> {
  await prepareFolder(folder);
  const file = (name: string) => path.join(folder, `.${name}`);
  const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
  const PATH = [path.join(folder, '.bin'), path.dirname(process.execPath), ...folders, process.env.PATH].join(':');
  const bash: ChildProcess = spawn('bash', ['-euo', 'pipefail'], {
    cwd: folder,
    env: cleanEnv({ ...env, PATH, PORT: '0', TZ: 'UTC' }),
    // Not our own stderr: while a program that is left over has it open, Vitest would wait.
    stdio: 'pipe',
    // Its own process group, which includes everything that it starts.
    detached: true,
  });
  const ended = once(bash, 'exit');
  let complaints = '';
  bash.stderr!.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  const run = async (command: string) => {
    const done = once(bash.stdout!, 'data');
    bash.stdin!.write(`${command}\necho done\n`);
    const limit = new AbortController();
    const isLate = sleep(maxBlockMs, true, { signal: limit.signal }).catch(() => false);
    const how = await Promise.race([
      done.then(() => 'done'),
      ended.then(() => 'failed'),
      isLate.then(() => `still running after ${maxBlockMs / 1_000} s: ${listProcesses(bash.pid!)}`),
    ]);
    limit.abort();
    const failed = read('failed');
    if (how === 'done' && failed === '') return;
    throw new Error(
      `${failed ? `failed: ${failed}` : how}\n${read('block')}\n${read('out')}${read('err')}${complaints}`,
    );
  };
  return {
    run: async text => {
      await writeFile(file('block'), text);
      await run('. ./.block > .out 2> .err < /dev/null');
    },
    runFailing: async text => {
      await writeFile(file('block'), text);
      await run('(. ./.block) > .out 2> .err < /dev/null || true; [ -s .failed ]; rm .failed');
    },
    start: async text => {
      await writeFile(file('other-block'), text);
      await run('(. ./.other-block) > .other 2>&1 < /dev/null &');
    },
    output: () => read('out'),
    otherOutput: () => read('other'),
    // A service in another terminal stops as it would with Ctrl-C.
    end: async () => {
      try {
        await waitFor('the programs to end', () => !signalGroup(bash.pid!, 'SIGTERM'), 60_000);
      } catch (error) {
        const left = listProcesses(bash.pid!);
        signalGroup(bash.pid!, 'SIGKILL');
        throw new Error(`${(error as Error).message}:\n${left}`);
      }
    },
  };
}

/** Returns the processes of a session, of which one hangs. */
const listProcesses = (session: number): string =>
  spawnSync('ps', ['-o', 'pid,etime,stat,args', '-g', String(session)], { encoding: 'utf8' }).stdout ?? '';

/** Returns false if the process group is gone. */
function signalGroup(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** Links what a reader has in the folder of the clone, and the packages that a guide lets them install. */
async function prepareFolder(folder: string): Promise<void> {
  const packages = path.join(folder, 'node_modules');
  // Node.js runs TypeScript only outside node_modules.
  const client = path.join(folder, '.client');
  for (const each of [path.join(folder, '.bin'), path.join(packages, '@belfry'), client]) {
    await mkdir(each, { recursive: true });
  }
  const source = path.join(root, 'sdk/client/src/index.ts');
  await writeFile(path.join(client, 'package.json'), '{"type": "module", "exports": "./index.ts"}');
  await writeFile(path.join(client, 'index.ts'), `export * from ${JSON.stringify(source)};\n`);
  await writeFile(path.join(folder, 'package.json'), '{"type": "module"}');
  await symlink(client, path.join(packages, '@belfry/client'));
  await symlink(path.join(root, 'node_modules/standardwebhooks'), path.join(packages, 'standardwebhooks'));
  await symlink(path.join(root, 'docs'), path.join(folder, 'docs'));
  // A failure inside `$(…)` or a pipe would not end the shell, and curl succeeds whatever the status is.
  const reporting = (command: string, check = '') =>
    `#!/bin/bash\nPATH=\${PATH#*:}\n${check}${command} "$@" || { code=$?; echo "$(basename "$0") $*: $code" >> ${folder}/.failed; exit $code; }\n`;
  const program = `node ${path.join(root, 'bin/belfry.js')}`;
  const shims = {
    belfry: reporting(program),
    npx: reporting(program, '[ "$1" = belfry ] || { echo "npx $1 is not run here" >&2; exit 1; }\nshift\n'),
    curl: reporting('curl --fail-with-body'),
  };
  // A reader may not have the programs of PostgreSQL, whatever is installed here.
  const missing = (name: string) => `#!/bin/sh\necho "${name} is not installed" >> ${folder}/.failed\nexit 127\n`;
  for (const name of ['pg_dump', 'pg_restore', 'psql', 'createdb']) Object.assign(shims, { [name]: missing(name) });
  for (const [name, text] of Object.entries(shims)) {
    await writeFile(path.join(folder, '.bin', name), text, { mode: 0o755 });
  }
}
