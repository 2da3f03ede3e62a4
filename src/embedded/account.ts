/**
 * The operating system user of the embedded server. An ordinary user runs it as itself. PostgreSQL refuses to run as root,
 * so root runs it as the owner of the cluster's files; files that root owns are first given to the system user
 * `postgres`. Invariant: the server always runs as the owner of its files.
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
  /** Set if root acts for another user: files that root writes for the server are given to this user. */
  owner?: Owner;
  /** The command before the program that switches to that user. Empty if `spawn` does it. */
  prefix: string[];
  /** The user for `spawn` to switch to. */
  spawnUser: Partial<Owner>;
}

/** Returns the account that runs programs on `folder`, which must exist; `program` is the server's executable. */
export async function accountFor(folder: string, program: string): Promise<Account> {
  if (process.getuid?.() !== 0) return { prefix: [], spawnUser: {} };
  const { uid, gid } = await stat(folder);
  const owner = uid === 0 ? await giveToSystemUser(folder) : { uid, gid };
  if (await canReach(owner, folder, program)) return { owner, prefix: [], spawnUser: owner };
  return { owner, prefix: await privilegedPrefix(owner, folder), spawnUser: {} };
}

/** Returns the arguments of `spawn` that run a program under the account, without the secrets in our environment. */
export function asAccount(account: Account, program: string, args: string[]) {
  const [file = program, ...rest] = [...account.prefix, program, ...args];
  const { PATH, LD_LIBRARY_PATH } = process.env;
  // The server's messages are matched in English, hence the C locale. Its user may not be allowed to enter our own folder.
  const env = { PATH, ...(LD_LIBRARY_PATH && { LD_LIBRARY_PATH }), LC_ALL: 'C' };
  return { file, args: rest, options: { ...account.spawnUser, cwd: '/', env } };
}

/** Tries it instead of reading file modes: only the kernel knows about ACLs, mounts and security modules. */
async function canReach(owner: Owner, folder: string, program: string): Promise<boolean> {
  const script = '"$0" --version && cd "$1"';
  return run('/bin/sh', ['-c', script, program, folder], { ...owner, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/**
 * A clone under /root or in a `mktemp -d` folder has a parent that only root may enter, so the server's user can reach
 * neither programs nor data. Rather than change the modes of folders that are not ours, the server keeps the one
 * capability of root that bypasses file modes. PostgreSQL accepts that, as it checks only the user id.
 */
async function privilegedPrefix({ uid, gid }: Owner, folder: string): Promise<string[]> {
  await run('setpriv', ['--version']).catch(cause => {
    throw new AppError(
      'embedded.failed',
      `PostgreSQL does not run as root, and its own user cannot reach ${folder} or the programs in node_modules. ` +
        'Move Belfry and BELFRY_DATA_DIR to a folder that other users can enter, run Belfry as an ordinary user, ' +
        'or set DATABASE_URL to your own PostgreSQL',
      { cause },
    );
  });
  const user = ['--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups'];
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  // initdb looks for the server's program with access(2), which ignores capabilities unless this bit is set.
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
  const commands: [string, string[]][] = [
    ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', name]],
    ['adduser', ['-S', '-D', '-H', name]],
  ];
  let cause: unknown;
  for (const [program, args] of commands) {
    await run(program, args).catch(error => {
      cause ??= error;
    });
    // Looked up even after a failure: another process may have created the user at the same time.
    const created = await lookUp(name);
    if (created) return created;
  }
  throw new AppError(
    'embedded.failed',
    `PostgreSQL does not run as root, and a system user "${name}" could not be created for it. ` +
      'Create that user, run Belfry as an ordinary user, or set DATABASE_URL to your own PostgreSQL',
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
