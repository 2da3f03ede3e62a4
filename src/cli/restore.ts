import { parseArgs } from 'node:util';
import { restoreBackup } from '../services/backup.ts';
import { howToResume, pauseRestored } from '../services/instance.ts';
import { findUnreadableSecrets } from '../services/secrets.ts';
import { type Command, requireDatabaseHere, wrongUsage } from './command.ts';

export const restore: Command = {
  name: 'restore',
  usage: 'FILE [--replace] [--json]',
  summary: 'Puts a backup back into an empty database, by pg_restore.',
  details: `Refuses a database that is not empty, a backup that a newer version has made, and anything that is no backup. Afterwards
the schema is up to date, and sending is paused: a backup does not know what was sent after it. Say what it is with
\`belfry resume\`. Exit code 1 when credentials in it cannot be decrypted with the key that is set; they are named.

--replace  deletes all that is in the database first; every process of Belfry has to be stopped`,
  examples: ['DATABASE_URL=postgres://belfry:secret@127.0.0.1/belfry_restored belfry restore belfry-2026-11-15.dump'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { replace: { type: 'boolean' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [file, ...rest] = positionals;
    if (!file || rest.length > 0) throw wrongUsage('name the backup: belfry restore FILE');
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
      if (unreadable.length === 0) terminal.print('The credentials in it can be decrypted.');
      terminal.print(`Sending is paused. ${howToResume}`);
    }
    if (unreadable.length === 0) return 0;
    terminal.warn(
      `belfry: cannot be decrypted: ${unreadable.join(', ')}. Set BELFRY_SECRET_KEY to the key of the time of the backup`,
    );
    return 1;
  },
};
