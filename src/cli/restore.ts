import { parseArgs } from 'node:util';
import { restoreBackup } from '../services/operations/backup.ts';
import { howToResume, pauseRestored } from '../services/operations/instance.ts';
import { findUnreadableSecrets } from '../services/operations/secrets.ts';
import { type Command, requireDatabaseHere, usageError } from './command.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FILE [--replace] [--json]',
  summary: 'Restore a backup into an empty database with pg_restore.',
  details: `FILE       a backup made by \`belfry backup\`
--replace  delete everything in the database first; stop all Belfry processes before
--json     print the result as JSON

Refuses a database that is not empty, a backup of a newer version, and a file that is not a backup. After the restore the
schema is up to date and sending is paused, because a backup does not know what was sent after it was made: run
\`belfry resume\` to continue. Exit code 1 if credentials cannot be decrypted with the configured key; they are listed.
See docs/guides/backup.md.`,
  examples: ['DATABASE_URL=postgres://belfry:secret@127.0.0.1/belfry_restored belfry restore belfry-2026-11-15.dump'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { replace: { type: 'boolean' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [file, ...rest] = positionals;
    if (!file || rest.length > 0) throw usageError('name the backup to restore: belfry restore FILE');
    requireDatabaseHere(terminal);
    await terminal.withDatabase(url => restoreBackup(url, file, { replace: values.replace ?? false }), {
      mayCreate: true,
    });
    // Opening the database migrates it.
    const unreadable = await terminal.withDeps(async deps => {
      await pauseRestored(deps);
      return findUnreadableSecrets(deps);
    });
    if (values.json) terminal.print(JSON.stringify({ file, unreadable }));
    else {
      terminal.print(`Restored ${file}.`);
      if (unreadable.length === 0) terminal.print('All credentials can be decrypted.');
      terminal.print(`Sending is paused. ${howToResume}`);
    }
    if (unreadable.length === 0) return 0;
    terminal.warn(
      `belfry: cannot decrypt ${unreadable.join(', ')}: set BELFRY_SECRET_KEY to the key that was in use when the backup was made`,
    );
    return 1;
  },
};
