/**
 * The passphrases that encrypt and sign: the first is used, the others are of before and only read. They come from
 * settings, or from a file that Belfry generated itself and where `belfry secret rotate` may put another one in front
 * while processes are running: so it is looked at again now and then, before something is encrypted, and when nothing
 * here fits.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** So long a running process may still use the key of before. */
const refreshAfterMs = 10_000;

export interface Keyring {
  /** The current one first. */
  passphrases(): readonly [string, ...string[]];
  /** Reads them again where they may have changed. */
  refresh(): void;
  /** Undefined where they come from settings. */
  file?: KeyFile;
}

export interface KeyFile {
  path: string;
  changedAt(): Promise<Date>;
  /** Puts a new passphrase in front; those of before stay readable. */
  generate(): Promise<void>;
  /** Keeps the current one alone. */
  forgetPrevious(): Promise<void>;
}

export function createKeyring(current: string, previous: readonly string[] = []): Keyring {
  const passphrases: readonly [string, ...string[]] = [current, ...previous];
  return { passphrases: () => passphrases, refresh: () => {} };
}

export interface KeySource {
  /** Undefined: generated once and kept in the data folder. */
  secretKey: string | undefined;
  previousSecretKeys: readonly string[];
  dataDir: string;
}

export async function openKeyring({ secretKey, previousSecretKeys, dataDir }: KeySource): Promise<Keyring> {
  return secretKey ? createKeyring(secretKey, previousSecretKeys) : openKeyFile(path.join(dataDir, 'secret.key'));
}

/** Generated at the first start, one passphrase a line; whoever has the file can read the channels' credentials. */
export async function openKeyFile(file: string): Promise<Keyring> {
  await mkdir(path.dirname(file), { recursive: true });
  try {
    await writeFile(file, `${generatePassphrase()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  let passphrases = read(file);
  let readAt = Date.now();
  const refresh = () => {
    passphrases = read(file);
    readAt = Date.now();
  };
  const store = async (next: readonly string[]) => {
    await replaceFile(file, next.map(line => `${line}\n`).join(''));
    refresh();
  };
  return {
    passphrases: () => {
      if (Date.now() - readAt > refreshAfterMs) refresh();
      return passphrases;
    },
    refresh,
    file: {
      path: file,
      changedAt: async () => (await stat(file)).mtime,
      generate: () => store([generatePassphrase(), ...read(file)]),
      forgetPrevious: () => store([read(file)[0]]),
    },
  };
}

function generatePassphrase(): string {
  return randomBytes(32).toString('base64url');
}

function read(file: string): readonly [string, ...string[]] {
  const lines = readFileSync(file, 'utf8').split('\n');
  const [current, ...previous] = lines.map(line => line.trim()).filter(Boolean);
  if (current === undefined) throw new Error(`${file} is empty: restore it from a backup, or delete it to begin anew`);
  return [current, ...previous];
}

/** The old text or the new one, also after a power cut: never half of it, and never none. */
async function replaceFile(file: string, text: string): Promise<void> {
  const next = `${file}.${process.pid}.next`;
  const handle = await open(next, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, file);
  const folder = await open(path.dirname(file), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
