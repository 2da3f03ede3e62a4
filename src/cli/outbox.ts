import { type OutboxSource, readOutboxSources } from '../core/operations/outbox.ts';
import { Outbox } from '../services/operations/outbox.ts';
import { flag, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';

export const outbox: Command = {
  name: 'outbox',
  usage: 'install [URL] [--grant ROLE] | sql | status [--json]',
  summary: "Manage transactional outboxes: triggers from within an application's own database transactions.",
  details: `install  Create the schema belfry in the PostgreSQL database at URL, or in all databases of BELFRY_OUTBOX_URLS. It is safe
         to run again.
  --grant ROLE  allow this database role to call belfry.notify, and nothing else of the schema
sql      Print the SQL of the schema, to add it to your own migrations.
status   Show for each outbox of BELFRY_OUTBOX_URLS how many rows are waiting, for how long, and how many were refused.
  --json        print JSON

A running Belfry drains the outboxes in BELFRY_OUTBOX_URLS. See docs/guides/outbox.md.`,
  examples: [
    'belfry outbox install postgres://owner:secret@db.internal/shop --grant shop',
    'BELFRY_OUTBOX_URLS=acme=postgres://owner:secret@db.internal/shop belfry outbox status',
  ],
  run(args, terminal) {
    const { values, positionals } = readArguments(args, { grant: string, json: flag });
    const [verb, ...rest] = positionals;
    if (verb === 'sql' && rest.length === 0) return printSchema(terminal);
    if (verb === 'install' && rest.length <= 1) return install(terminal, rest[0], values.grant);
    if (verb === 'status' && rest.length === 0) return status(terminal, values.json ?? false);
    throw usageError('choose install, sql or status: see `belfry help outbox`');
  },
};

async function printSchema({ print }: Terminal): Promise<void> {
  print(Outbox.schema);
}

async function install(terminal: Terminal, url: string | undefined, role: string | undefined): Promise<void> {
  for (const source of url === undefined ? requireSources(terminal) : [sourceOf(url)]) {
    await withOutbox(source, box => box.install(role));
    terminal.print(`The outbox is installed in ${source.database}.`);
  }
  if (!role) terminal.print('Allow your application to use it: belfry outbox install --grant ROLE');
}

async function status(terminal: Terminal, json: boolean): Promise<number> {
  const found = await Promise.all(
    requireSources(terminal).map(async ({ name, ...source }) => {
      try {
        return { outbox: name, error: undefined, ...(await withOutbox({ name, ...source }, box => box.readState())) };
      } catch (error) {
        return { outbox: name, error: (error as Error).message };
      }
    }),
  );
  if (json) terminal.print(JSON.stringify(found, null, 2));
  else {
    const lines = found.map(each =>
      each.error !== undefined
        ? [each.outbox, each.error]
        : [
            each.outbox,
            `${each.pending} waiting, oldest for ${Math.round(each.lagMs / 1_000)} s; ${each.failed} refused`,
          ],
    );
    terminal.print(formatTable(lines));
  }
  return found.some(({ error }) => error !== undefined) ? 1 : 0;
}

async function withOutbox<T>(source: OutboxSource, work: (box: Outbox) => Promise<T>): Promise<T> {
  const box = new Outbox(source);
  try {
    return await work(box);
  } finally {
    await box.close();
  }
}

function requireSources({ config }: Terminal): readonly OutboxSource[] {
  if (config.outboxes.length > 0) return config.outboxes;
  throw usageError(
    'set BELFRY_OUTBOX_URLS, such as acme=postgres://user:password@host/database, or pass the URL of the database',
  );
}

function sourceOf(url: string): OutboxSource {
  const read = readOutboxSources(`any=${url}`);
  if ('sources' in read && read.sources[0]) return read.sources[0];
  throw usageError('the URL must have the form postgres://user:password@host/database');
}
