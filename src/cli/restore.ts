import { countOf } from '../lib/count-of.ts';
import { checkBackup, restoreBackup } from '../services/operations/backup.ts';
import { howToResume, pauseRestored } from '../services/operations/instance.ts';
import { findUnreadableSecrets } from '../services/operations/secrets.ts';
import { flag, onlyOf, readArguments } from './arguments.ts';
import { backupProgress } from './backup.ts';
import { type Command, requireDatabaseHere } from './command.ts';
import { formatCount, formatTime } from './format.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FILE [--replace] [--without-key] [--check] [--json]',
  summary: 'Restore a backup into an empty database.',
  details: `FILE           a backup made by \`belfry backup\`
--replace      delete everything in the database first; stop all Belfry processes before
--without-key  restore although the secret key is another one: enter all credentials of channels again afterwards
--check        only check the file and the key, and change nothing
--json         print the result as JSON

Without DATABASE_URL, the embedded database of BELFRY_DATA_DIR is restored, and created if there is none. Refuses a file
that is damaged or incomplete, a database that is not empty, a backup of a newer version, and one made with another secret
key, all before anything is changed. After the restore the schema is up to date and sending is paused, because a backup does
not know what was sent after it was made: run \`belfry resume\` to continue. Exit code 1 if credentials cannot be decrypted;
they are listed. See docs/guides/backup.md.`,
  examples: [
    'belfry restore belfry-2026-11-15.backup --check',
    'belfry restore belfry-2026-11-15.backup --replace',
    'DATABASE_URL=postgres://belfry:secret@127.0.0.1/belfry_restored belfry restore belfry-2026-11-15.backup',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, {
      replace: flag,
      'without-key': flag,
      check: flag,
      json: flag,
    });
    const file = onlyOf(positionals, 'name the backup to restore: belfry restore FILE');
    requireDatabaseHere(terminal);
    const withoutKey = values['without-key'] ?? false;
    const onProgress = backupProgress(terminal);
    const checked = await checkBackup(file, terminal.config, { withoutKey, onProgress });
    const { header, rows, tables } = checked;
    if (values.check) {
      if (values.json) terminal.print(JSON.stringify({ file, createdAt: header.createdAt, rows, tables }));
      else {
        const content = `${formatCount(rows)} rows in ${countOf(tables.length, 'table')}`;
        terminal.print(`${file} is complete: ${content}, made ${formatTime(header.createdAt)}.`);
      }
      return 0;
    }
    const options = { replace: values.replace ?? false, onProgress };
    const { skipped } = await terminal.withDatabase(url => restoreBackup(url, file, checked, options), {
      mayCreate: true,
    });
    // Opening the database migrates it.
    const unreadable = await terminal.withDeps(async deps => {
      await pauseRestored(deps);
      return findUnreadableSecrets(deps);
    });
    if (values.json) terminal.print(JSON.stringify({ file, rows, tables, skipped, unreadable }));
    else {
      terminal.print(`Restored ${file}: ${formatCount(rows)} rows in ${countOf(tables.length, 'table')}.`);
      if (skipped.length > 0) terminal.print(`Skipped, as they are not tables of Belfry: ${skipped.join(', ')}.`);
      if (unreadable.length === 0) terminal.print('All credentials can be decrypted.');
      terminal.print(`Sending is paused. ${howToResume}`);
    }
    if (unreadable.length === 0) return 0;
    const remedy = withoutKey
      ? 'enter them again'
      : 'set BELFRY_SECRET_KEY_PREVIOUS to the key that they were stored with';
    terminal.warn(`belfry: cannot decrypt ${unreadable.join(', ')}: ${remedy}`);
    return 1;
  },
};
