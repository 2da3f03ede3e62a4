/**
 * Backup and restore of a whole database, without any program but Belfry. Refuses a restore that would lose data, and checks a
 * file completely before anything is changed. A restored database sends nothing until it is resumed: see instance.ts.
 *
 * The secret key is not part of a backup: with both, a thief of the file would have the credentials of every channel. The
 * file contains a value that is sealed with the key instead, so that a restore knows at once whether it has the right one.
 */
import { existsSync } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../core/errors.ts';
import { migrationNames, refuseUnknown } from '../../db/connection/migrate.ts';
import type { Db } from '../../db/connection/pool.ts';
import { readSnapshot, readTable, recreateDatabase, withCopySession } from '../../db/operations/backup.ts';
import { countRelations, countSessions } from '../../db/operations/restore.ts';
import { countOf } from '../../lib/count-of.ts';
import { type Cipher, createCipher } from '../../lib/secrets/cipher.ts';
import { findKeyring, type KeySource, openKeyring } from '../../lib/secrets/keyring.ts';
import { type BackupSummary, type CheckedBackup, createBackupFile, readBackupFile } from './backup-file.ts';

const keyPurpose = 'backup';

export interface BackupProgress {
  step: 'Writing' | 'Checking' | 'Restoring';
  table: string;
  /** The rows of all tables so far. */
  rows: number;
  /** From 0 to 1; estimated when writing. */
  share: number;
}

type OnProgress = (progress: BackupProgress) => void;

/** Writes a new file, which appears only when it is complete and was read back. Only its owner can read it. */
export async function writeBackup(
  url: string,
  file: string,
  keys: KeySource,
  onProgress: OnProgress = () => {},
): Promise<BackupSummary & { bytes: number }> {
  if (existsSync(file)) throw failed(`${file} already exists: choose another file name`);
  const sealed = createCipher(await openKeyring(keys))
    .seal('belfry', keyPurpose)
    .toString('base64');
  const draft = `${file}.${process.pid}.part`;
  try {
    await writeFrom(url, draft, sealed, onProgress);
    const { rows, tables } = await checkFile(draft, onProgress);
    await rename(draft, file);
    return { rows, tables, bytes: (await stat(file)).size };
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    throw code && syscall ? failed(`cannot write ${file}: ${message}`) : error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeFrom(url: string, draft: string, sealed: string, onProgress: OnProgress): Promise<void> {
  await withCopySession(url, (client, db) =>
    readSnapshot(client, db, async ({ estimatedRows, ...snapshot }) => {
      const header = { createdAt: new Date().toISOString(), ...snapshot, sealed };
      const writer = await createBackupFile(draft, header);
      try {
        let rows = 0;
        for (const table of snapshot.tables) {
          const count = await readTable(client, table, async (block, added) => {
            rows += added;
            const share = Math.min(rows / Math.max(estimatedRows, 1), 0.99);
            onProgress({ step: 'Writing', table: table.name, rows, share });
            await writer.writeBlock(block);
          });
          await writer.endTable(table.name, count);
        }
        await writer.end();
      } finally {
        await writer.close();
      }
    }),
  );
}

const checkFile = (file: string, onProgress: OnProgress) =>
  readBackupFile(file, {
    progress: (table, rows, share) => onProgress({ step: 'Checking', table, rows, share }),
  });

/**
 * Checks that the file is complete and unchanged, that this version can restore it, and, unless `withoutKey` is set, that the
 * configured secret key is the one in use when it was made.
 */
export async function checkBackup(
  file: string,
  keys: KeySource,
  { withoutKey = false, onProgress = () => {} }: { withoutKey?: boolean; onProgress?: OnProgress } = {},
): Promise<CheckedBackup> {
  const backup = await checkFile(file, onProgress);
  refuseUnknown('backup', { available: await migrationNames(), applied: backup.header.migrations });
  if (!withoutKey) await requireKey(backup.header.sealed, keys);
  return backup;
}

async function requireKey(sealed: string, keys: KeySource): Promise<void> {
  const keyring = await findKeyring(keys);
  if (keyring && canOpen(createCipher(keyring), sealed)) return;
  const remedy = keys.secretKey
    ? 'set BELFRY_SECRET_KEY to the key that was in use then'
    : `copy secret.key from the data folder of that installation to ${path.resolve(keys.dataDir)}, or set BELFRY_SECRET_KEY`;
  throw new AppError(
    'restore.key_missing',
    `the backup was made with another secret key: ${remedy}. Without it, add --without-key, and enter all credentials of ` +
      'channels again afterwards',
  );
}

function canOpen(cipher: Cipher, sealed: string): boolean {
  try {
    return cipher.open(Buffer.from(sealed, 'base64'), keyPurpose) !== undefined;
  } catch {
    return false;
  }
}

/**
 * Restores a checked file into an empty database; with `replace`, everything in the database is deleted first. Returns the
 * tables that it skipped, because they are not Belfry's.
 */
export async function restoreBackup(
  url: string,
  file: string,
  { header, tables }: CheckedBackup,
  { replace = false, onProgress = () => {} }: { replace?: boolean; onProgress?: OnProgress } = {},
): Promise<{ skipped: string[] }> {
  const skipped: string[] = [];
  await withCopySession(url, async (client, db) => {
    const isEmpty = (await countRelations(db)) === 0;
    if (!isEmpty) await requireReplaceable(db, replace);
    await recreateDatabase(client, db, header, { replace: !isEmpty }, async store => {
      const restored = await readBackupFile(file, {
        progress: (table, rows, share) => onProgress({ step: 'Restoring', table, rows, share }),
        table: async (name, blocks) => {
          const { columns } = header.tables.find(table => table.name === name)!;
          const rows = await store({ name, columns }, blocks);
          const expected = tables.find(table => table.name === name)!.rows;
          if (rows === undefined) skipped.push(name);
          else if (rows !== expected)
            throw failed(`${name} has ${rows} rows instead of ${expected}: nothing was changed`);
        },
      });
      const isSame = restored.tables.every(({ sha256 }, index) => sha256 === tables[index]?.sha256);
      if (!isSame) throw failed(`${file} was changed while it was read: nothing was changed in the database`);
    });
  });
  return { skipped };
}

const sessionCheckMs = 200;
const maxSessionChecks = 5;

async function requireReplaceable(db: Db, replace: boolean): Promise<void> {
  if (!replace) {
    throw new AppError(
      'restore.not_empty',
      'the database is not empty: restore into an empty one, or add --replace, which deletes everything in it',
    );
  }
  let sessions = await countSessions(db);
  // PostgreSQL takes a moment to end the sessions of processes that have just stopped.
  for (let i = 0; sessions > 0 && i < maxSessionChecks; i++) {
    await sleep(sessionCheckMs);
    sessions = await countSessions(db);
  }
  if (sessions === 0) return;
  throw new AppError(
    'restore.in_use',
    `${countOf(sessions, 'other connection')} ${sessions === 1 ? 'is' : 'are'} open to the database: stop all ` +
      'Belfry processes, and everything else that uses it',
  );
}

const failed = (message: string) => new AppError('backup.failed', message);
