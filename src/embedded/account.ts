/**
 * Who runs the embedded server. An ordinary user runs it as itself. PostgreSQL refuses to run as root, so root runs
 * it as whoever owns the cluster's files, and files that root owns are first given to the system user `postgres`.
 * Invariant: the server's user is always the owner of its files, whoever starts it.
 */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { AppError } from '../core/errors.ts';

const run = promisify(execFile);

export interface Owner {
  uid: number;
  gid: number;
}

export interface Account {
  /** Set when root acts for another user: files that root writes for the server are given to it. */
  owner?: Owner;
  /** Goes before the program: how to become that user. Empty when `spawn` itself does it. */
  prefix: string[];
  /** For `spawn`: the user to become. */
  become: Partial<Owner>;
}

/** The account that runs programs on `folder`, which exists; `program` is the server's executable. */
export async function accountFor(folder: string, program: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], become: {} };
  const { uid, gid } = await stat(folder);
  const owner = uid === 0 ? await giveToSystemUser(folder) : { uid, gid };
  if (await canReach(owner, folder, program)) return { owner, prefix: [], become: owner };
  return { owner, prefix: await reachingPrefix(owner, folder), become: {} };
}

/** What to hand to `spawn` so that a program runs under the account, without this process's secrets around it. */
export function asAccount(account: Account, program: string, args: string[]) {
  const [file = program, ...rest] = [...account.prefix, program, ...args];
  const { PATH, LD_LIBRARY_PATH } = process.env;
  // The server's messages are read for known words, hence the C locale; its user may not enter our own folder.
  const env = { PATH, ...(LD_LIBRARY_PATH && { LD_LIBRARY_PATH }), LC_ALL: 'C' };
  return { file, args: rest, options: { ...account.become, cwd: '/', env } };
}

/** Asks the kernel rather than reading modes: it alone knows of access lists, mounts and security modules. */
async function canReach(owner: Owner, folder: string, program: string): Promise<boolean> {
  const script = '"$0" --version && cd "$1"';
  return run('/bin/sh', ['-c', script, program, folder], { ...owner, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/**
 * A clone under /root or a `mktemp -d` folder has a parent that only root may enter, so the server's user can reach
 * neither programs nor data. Rather than loosen modes of folders that are not ours, the server keeps the one
 * capability of root that looks past file modes; it is no root for PostgreSQL, which checks the user id.
 */
async function reachingPrefix({ uid, gid }: Owner, folder: string): Promise<string[]> {
  await run('setpriv', ['--version']).catch(cause => {
    throw new AppError(
      'embedded.failed',
      `PostgreSQL does not run as root, and its own user cannot reach ${folder} or the programs in node_modules. ` +
        'Move Belfry and BELFRY_DATA_DIR to a folder open to other users, run Belfry as an ordinary user, ' +
        'or set DATABASE_URL to a PostgreSQL of your own',
      { cause },
    );
  });
  const user = ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'];
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  // initdb looks for the server's program with access(2), which forgets capabilities unless this bit is set.
  const forAccess = ['--securebits', '+no_setuid_fixup'];
  return ['setpriv', ...user, ...capability, ...forAccess, '--'];
}

async function giveToSystemUser(folder: string): Promise<Owner> {
  const owner = await systemUser();
  await run('chown', ['-R', `${owner.uid}:${owner.gid}`, folder]);
  return owner;
}

async function systemUser(): Promise<Owner> {
  const name = process.platform === 'darwin' ? '_postgres' : 'postgres';
  const found = await lookUp(name);
  if (found) return found;
  // The second is for systems without `useradd`, such as those with BusyBox.
  const ways: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', name]],
    ['adduser', ['-S', '-D', '-H', name]],
  ];
  let cause: unknown;
  for (const [program, args] of ways) {
    await run(program, args).catch(error => {
      cause ??= error;
    });
    // Looked up even after a failure: another process may have made the user at the same moment.
    const made = await lookUp(name);
    if (made) return made;
  }
  throw new AppError(
    'embedded.failed',
    `PostgreSQL does not run as root, and a system user "${name}" could not be made for it. ` +
      'Make that user, run Belfry as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own',
    { cause },
  );
}

async function lookUp(name: string): Promise<Owner | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return undefined;
  }
}
