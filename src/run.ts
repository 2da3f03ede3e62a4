/** argv, env → exit code. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Command, type Terminal, wrongUsage } from './cli/command.ts';
import { findCommand } from './cli/commands.ts';
import { formatError } from './cli/format.ts';
import { type Config, loadConfig } from './config.ts';
import { AppError } from './core/errors.ts';

try {
  process.loadEnvFile();
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
// A reader that leaves early (`belfry export | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// The server is most of the program: help and commands that speak to another server start a third faster without it.
const terminal: Terminal = {
  env: process.env,
  get config(): Config {
    return loadConfig(process.env);
  },
  print: text => console.log(text),
  warn: text => console.error(text),
  interactive: process.stdout.isTTY === true,
  withDeps: async (work, { mayCreate } = { mayCreate: false }) => {
    const { config } = terminal;
    if (!config.databaseUrl && !mayCreate) requireDatabase(config.dataDir);
    const [{ openRuntime }, { pino }] = await Promise.all([import('./app.ts'), import('pino')]);
    const runtime = await openRuntime(config, pino({ level: 'silent' }));
    try {
      return await work(runtime.deps);
    } finally {
      await runtime.close();
    }
  },
  withDatabase: async (work, { mayCreate } = { mayCreate: false }) => {
    const { databaseUrl, directDatabaseUrl, dataDir } = terminal.config;
    if (databaseUrl) return work(directDatabaseUrl ?? databaseUrl);
    if (!mayCreate) requireDatabase(dataDir);
    const embedded = await (await import('./embedded/embedded.ts')).openEmbedded({ dataDir });
    try {
      return await work(embedded.url);
    } finally {
      await embedded.release();
    }
  },
  serve: async role => {
    const config = loadConfig(process.env, { toServe: true });
    await (await import('./serve.ts')).serve(role ? { ...config, role } : config);
  },
};

/** Whoever looks into a folder without a database has most often named the wrong one, and is told so. */
function requireDatabase(dataDir: string): void {
  if (existsSync(path.join(dataDir, 'postgres'))) return;
  throw new AppError(
    'database.missing',
    `there is no database in ${path.resolve(dataDir)}: set BELFRY_DATA_DIR to the folder of your installation, ` +
      'or DATABASE_URL to its PostgreSQL; `belfry serve` makes a new one',
  );
}

export async function run([name = 'help', ...args]: string[]): Promise<number> {
  try {
    if (['help', '--help', '-h'].includes(name)) return await help(args);
    if (['--version', '-v'].includes(name)) return await printVersion();
    const command = await findCommand(name);
    if (!command) throw wrongUsage(`there is no command ${name}: see \`belfry help\``);
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
  return (await import('./cli/help.ts')).help(args, terminal);
}

async function runCommand(command: Command, args: string[]): Promise<number> {
  try {
    return await command.run(args, terminal);
  } catch (error) {
    // What node:util says of an unknown option or a missing value.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('ERR_PARSE_ARGS'))
      throw wrongUsage(`${message.split('. ')[0]}: see \`belfry help ${command.name}\``);
    throw error;
  }
}
