import { parseArgs } from 'node:util';
import { writeBackup } from '../services/operations/backup.ts';
import { type Command, requireDatabaseHere, usageError } from './command.ts';

export const backup: Command = {
  name: 'backup',
  usage: 'FILE [--json]',
  summary: 'Write the database to a file with pg_dump.',
  details: `FILE    the file to write
--json  print the result as JSON

The backup is consistent, and Belfry keeps running. It uses the pg_dump on PATH, which must have the server's major version
or a later one. The backup contains everything except the key that encrypts credentials: keep BELFRY_SECRET_KEY, or
secret.key from the data folder, in a separate location. For a large database, or to lose less than a day of data, archive
PostgreSQL's write-ahead log instead. See docs/guides/backup.md.`,
  examples: ['belfry backup belfry-$(date +%F).dump'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const [file, ...rest] = positionals;
    if (!file || rest.length > 0) throw usageError('name one file to write: belfry backup FILE');
    requireDatabaseHere(terminal);
    const { bytes } = await terminal.withDatabase(url => writeBackup(url, file));
    if (values.json) terminal.print(JSON.stringify({ file, bytes }));
    else {
      terminal.print(`Wrote ${file}, ${bytes} bytes.`);
      terminal.print(
        'It does not contain the secret key: keep BELFRY_SECRET_KEY, or secret.key from the data folder, in a separate location.',
      );
    }
    return 0;
  },
};
