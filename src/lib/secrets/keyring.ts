/**
 * The passphrases that encrypt and sign. The first is the current one; previous ones are accepted for reading, never used
 * for new data. They come from settings, or from a file that Belfry generated. `belfry secret rotate` may add a passphrase
 * to that file while processes are running, so it is read again every few seconds, before anything is encrypted, and when
 * no passphrase fits.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** A running process may use the previous key for this long after a rotation. */
const refreshAfterMs = 10_000;

export interface Keyring {
  /** Returns the passphrases, the current one first. */
  passphrases(): readonly [string, ...string[]];
  /** Reads the passphrases again if they may have changed. */
  refresh(): void;
  /** Undefined if the passphrases come from settings. */
  file?: KeyFile;
}

export interface KeyFile {
  path: string;
  changedAt(): Promise<Date>;
  /** Adds a new current passphrase; previous ones stay accepted for reading. */
  generate(): Promise<void>;
  /** Removes all passphrases but the current one. */
  forgetPrevious(): Promise<void>;
}

export function createKeyring(current: string, previous: readonly string[] = []): Keyring {
  const passphrases: readonly [string, ...string[]] = [current, ...previous];
  return { passphrases: () => passphrases, refresh: () => {} };
}

export interface KeySource {
  /** Undefined: a key is generated once and kept in the data folder. */
  secretKey: string | undefined;
  previousSecretKeys: readonly string[];
  dataDir: string;
}

export async function openKeyring({ secretKey, previousSecretKeys, dataDir }: KeySource): Promise<Keyring> {
  return secretKey ? createKeyring(secretKey, previousSecretKeys) : openKeyFile(path.join(dataDir, 'secret.key'));
}

/** Like `openKeyring`, but generates no key: returns undefined if there is none yet. */
export async function findKeyring(source: KeySource): Promise<Keyring | undefined> {
  const isMissing = !source.secretKey && !existsSync(path.join(source.dataDir, 'secret.key'));
  return isMissing ? undefined : openKeyring(source);
}

/**
 * Opens the key file, which is generated at the first start and has one passphrase per line. Anyone who can read the file
 * can decrypt the channels' credentials.
 */
export async function openKeyFile(file: string): Promise<Keyring> {
  await mkdir(path.dirname(file), { recursive: true });
  try {
    await writeFile(file, `${generatePassphrase()}\n`, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  let passphrases = read(file);
  let readAt = performance.now();
  const refresh = () => {
    passphrases = read(file);
    readAt = performance.now();
  };
  const store = async (next: readonly string[]) => {
    await replaceFile(file, next.map(line => `${line}\n`).join(''));
    refresh();
  };
  return {
    passphrases: () => {
      if (performance.now() - readAt > refreshAfterMs) refresh();
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
  if (current === undefined)
    throw new Error(`${file} is empty: restore it from a backup, or delete it to start over with a new key`);
  return [current, ...previous];
}

/** Replaces a file atomically: after a power failure it has either the old or the new content. */
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
