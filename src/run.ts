/** Runs the command that the arguments name and returns the exit code. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Command, didYouMean, optionsOf, type Terminal, usageError } from './cli/command.ts';
import { findCommand, unknownCommand } from './cli/commands.ts';
import { formatError, printable, printableLines } from './cli/format.ts';
import { type Config, loadConfig } from './config.ts';
import { AppError } from './core/errors.ts';
import { addressesOf } from './core/operations/database-url.ts';
import { closestOf } from './lib/closest.ts';

try {
  process.loadEnvFile();
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
// A reader that stops early (`belfry export | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

/** Set by `--local`: BELFRY_URL is ignored. */
let isLocal = false;
let isTargetNamed = false;

// The server is most of the code. Importing it lazily lets help and commands that call a remote server start a third faster.
const terminal: Terminal = {
  env: process.env,
  get config(): Config {
    const config = loadConfig(process.env);
    return isLocal ? { ...config, url: undefined, key: undefined } : config;
  },
  print: text => {
    clearProgress();
    // Files and pipes get exact data, such as an export.
    console.log(process.stdout.isTTY ? printableLines(text) : text);
  },
  warn: text => {
    clearProgress();
    console.error(printableLines(text));
  },
  showProgress: text => {
    if (!process.stderr.isTTY || performance.now() < progressShownAt + progressEveryMs) return;
    // Cut to one line: only the last line of a longer text would be replaced.
    process.stderr.write(`${eraseLine}${printable(text).slice(0, process.stderr.columns - 1)}`);
    progressShownAt = performance.now();
  },
  // Scripts and cron jobs see only errors on standard error.
  nameTarget: target => {
    if (process.stderr.isTTY && !isTargetNamed) terminal.warn(`belfry: ${target}`);
    isTargetNamed = true;
  },
  interactive: process.stdout.isTTY === true,
  withDeps: async (work, { mayCreate } = { mayCreate: false }) => {
    const { config } = terminal;
    if (!config.databaseUrl && !mayCreate) requireDatabase(config.dataDir);
    terminal.nameTarget(describeDatabase(config));
    const [{ openRuntime }, { connecting }, { pino }] = await Promise.all([
      import('./app.ts'),
      import('./db/connection/pool.ts'),
      import('pino'),
    ]);
    // A service has others to answer; a command can wait for a busy database.
    connecting.timeoutMs = commandConnectMs;
    const runtime = await openRuntime(config, pino({ level: 'silent' }));
    try {
      return await work(runtime.deps);
    } catch (error) {
      throw await (await import('./services/configuration/paths/similar-slugs.ts')).suggestSlug(runtime.deps, error);
    } finally {
      await runtime.close();
    }
  },
  withDatabase: async (work, { mayCreate } = { mayCreate: false }) => {
    const { config } = terminal;
    const { databaseUrl, directDatabaseUrl, dataDir } = config;
    terminal.nameTarget(describeDatabase(config));
    if (databaseUrl) return work(directDatabaseUrl ?? databaseUrl);
    if (!mayCreate) requireDatabase(dataDir);
    const embedded = await (await import('./embedded/embedded.ts')).openEmbedded({ dataDir });
    try {
      return await work(embedded.url);
    } finally {
      await embedded.release();
    }
  },
  loadFeedbackReaders: async () => (await import('./providers/feedback/index.ts')).feedbackReaders,
  serve: async role => {
    const config = loadConfig(process.env, { toServe: true });
    await (await import('./serve.ts')).serve(role ? { ...config, role } : config);
  },
};

const commandConnectMs = 30_000;
const progressEveryMs = 200;
const eraseLine = '\r\x1b[2K';
/** When progress was shown last, or 0 if the line is clear. */
let progressShownAt = 0;

function clearProgress(): void {
  if (progressShownAt > 0) process.stderr.write(eraseLine);
  progressShownAt = 0;
}

/** Leaves out the user and the password. */
function describeDatabase({ databaseUrl, dataDir }: Config): string {
  if (!databaseUrl) return `embedded database in ${path.resolve(dataDir)}`;
  return `database ${addressesOf(databaseUrl).join(', ')} (DATABASE_URL)`;
}

/** A data folder without a database usually means that the wrong folder is configured. */
function requireDatabase(dataDir: string): void {
  if (existsSync(path.join(dataDir, 'postgres'))) return;
  throw new AppError(
    'database.missing',
    `there is no database in ${path.resolve(dataDir)}: set BELFRY_DATA_DIR to the data folder of your installation, ` +
      'or DATABASE_URL to its PostgreSQL database. `belfry serve` creates a new database',
  );
}

export async function run([name = 'help', ...given]: string[]): Promise<number> {
  try {
    const args = given.filter(arg => arg !== '--local');
    isLocal = args.length < given.length;
    if (['help', '--help', '-h'].includes(name)) return await help(args);
    if (['--version', '-v'].includes(name)) return await printVersion();
    const command = await findCommand(name);
    if (!command) throw unknownCommand(name);
    if (args.includes('--help') || args.includes('-h')) return await help([name]);
    return await runCommand(command, args);
  } catch (error) {
    terminal.warn(formatError(error));
    return error instanceof AppError && error.code === 'usage.invalid' ? 2 : 1;
  }
}

async function printVersion(): Promise<number> {
  terminal.print((await import('./version.ts')).version);
  return 0;
}

async function help(args: string[]): Promise<number> {
  await (await import('./cli/help.ts')).help(args, terminal);
  return 0;
}

async function runCommand(command: Command, args: string[]): Promise<number> {
  try {
    return (await command.run(args, terminal)) || 0;
  } catch (error) {
    // node:util reports an unknown option or a missing value.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_PARSE_ARGS')) {
      const option = /^Unknown option '(.*?)'/.exec(message)?.[1];
      const meant = option && closestOf(option, optionsOf(command));
      throw usageError(`${message.split('. ')[0]}${didYouMean(meant)}: see \`belfry help ${command.name}\``);
    }
    throw error;
  }
}
