import { parseArgs } from 'node:util';
import { exportAudit, recordRead } from '../services/audit.ts';
import { getOrganization } from '../services/organizations.ts';
import { type Command, wrongUsage } from './command.ts';
import { remoteOf } from './remote.ts';

export const audit: Command = {
  name: 'audit',
  usage: 'ORG [--since T] [--until T] [--noun N] [--action A] [--actor NAME] [--path P]',
  summary: 'Prints the audit log of an organization as JSON lines, the newest first.',
  details: `--since, --until  times such as 2026-01-31 or 2026-01-31T08:00:00Z
--noun            organization, channel, user, list, key, account, audit, …
--action          create, update, delete, read, export, "sign in", "sign in failed", …
--actor           name of the key or email of the account
--path            what the path begins with

That it was exported is an entry of its own.`,
  examples: ['belfry audit acme --since 2026-01-01 > audit.jsonl', 'belfry audit acme --action "sign in failed"'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: {
        since: { type: 'string' },
        until: { type: 'string' },
        noun: { type: 'string' },
        action: { type: 'string' },
        actor: { type: 'string' },
        path: { type: 'string' },
      },
      allowPositionals: true,
    });
    const [slug, ...others] = positionals;
    if (!slug || others.length > 0) throw wrongUsage('name the organization: belfry audit ORG');
    const { since, until, ...rest } = values;
    const filter = { ...rest, since: timeOf('--since', since), until: timeOf('--until', until) };
    const given = Object.fromEntries(
      Object.entries(filter).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
      ),
    );
    const remote = remoteOf(terminal.config);
    if (remote) {
      const path = `/api/o/${encodeURIComponent(slug)}/audit/export/?${new URLSearchParams(given)}`;
      await printAll(remote.stream(path), terminal.print);
      return 0;
    }
    await terminal.withDeps(async deps => {
      const { id } = await getOrganization(deps, slug);
      await recordRead(deps, id, { action: 'export', noun: 'audit', path: '', after: given });
      await printAll(exportAudit(deps, id, filter), terminal.print);
    });
    return 0;
  },
};

function timeOf(option: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw wrongUsage(`${option} must be a time such as 2026-01-31 or 2026-01-31T08:00:00Z`);
  return time;
}

/** Pieces may end in the middle of a line; a line is printed as a whole. */
async function printAll(pieces: AsyncIterable<string>, print: (line: string) => void): Promise<void> {
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop()!;
    if (lines.length > 0) print(lines.join('\n'));
  }
}
