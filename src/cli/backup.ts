import { parseArgs } from 'node:util';
import { writeBackup } from '../services/backup.ts';
import { type Command, requireDatabaseHere, wrongUsage } from './command.ts';

export const backup: Command = {
  name: 'backup',
  usage: 'FILE [--json]',
  summary: 'Writes the database to a file, by pg_dump.',
  details: `Nothing stops meanwhile, and the file is consistent. It is made by the pg_dump on PATH, which must be of the server's
major version or later, and holds everything but the key that encrypts credentials: keep BELFRY_SECRET_KEY, or secret.key in
the data folder, in another place. For a large database, or less than a day of loss, archive PostgreSQL's write-ahead log
instead. See docs/guides/backup.md.`,
  examples: ['belfry backup belfry-$(date +%F).dump'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [file, ...rest] = positionals;
    if (!file || rest.length > 0) throw wrongUsage('name one file to write: belfry backup FILE');
    requireDatabaseHere(terminal);
    const { bytes } = await terminal.withDatabase(url => writeBackup(url, file));
    if (values.json) terminal.print(JSON.stringify({ file, bytes }));
    else {
      terminal.print(`Wrote ${file}, ${bytes} bytes.`);
      terminal.print('It holds no key: keep BELFRY_SECRET_KEY, or secret.key of the data folder, in another place.');
    }
    return 0;
  },
};
