import { countOf } from '../lib/count-of.ts';
import { type BackupProgress, writeBackup } from '../services/operations/backup.ts';
import { flag, onlyOf, readArguments } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal } from './command.ts';
import { formatBytes, formatCount } from './format.ts';

export const backup: Command = {
  name: 'backup',
  usage: 'FILE [--json]',
  summary: 'Write the whole database to a file.',
  details: `FILE    the file to write; only you can read it
--json  print the result as JSON, with rows and checksum of each table

The backup shows the database at one moment, and Belfry keeps running. Nothing else has to be installed. The file is read
back and checked before it gets its name. Restore it with this version of Belfry or a newer one, into any supported version
of PostgreSQL. It contains everything except the key that encrypts credentials: keep BELFRY_SECRET_KEY, or secret.key from
the data folder, in a separate location. For a large database, or to lose less than a day of data, archive PostgreSQL's
write-ahead log instead. See docs/guides/backup.md.`,
  examples: ['belfry backup belfry-$(date +%F).backup'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { json: flag });
    const file = onlyOf(positionals, 'name one file to write: belfry backup FILE');
    requireDatabaseHere(terminal);
    const { bytes, rows, tables } = await terminal.withDatabase(url =>
      writeBackup(url, file, terminal.config, backupProgress(terminal)),
    );
    if (values.json) terminal.print(JSON.stringify({ file, bytes, rows, tables }));
    else {
      terminal.print(
        `Wrote ${file}: ${formatCount(rows)} rows in ${countOf(tables.length, 'table')}, ${formatBytes(bytes)}.`,
      );
      terminal.print(
        'It does not contain the secret key: keep BELFRY_SECRET_KEY, or secret.key from the data folder, in a separate location.',
      );
    }
  },
};

/** Shows the progress on a terminal, a few times per second. */
export function backupProgress({ showProgress }: Terminal): (progress: BackupProgress) => void {
  return ({ step, table, rows, share }) =>
    showProgress(`${step} ${table}: ${formatCount(rows)} rows, ${Math.floor(share * 100)} %`);
}
