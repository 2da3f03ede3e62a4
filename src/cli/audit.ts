import { exportAudit, recordRead } from '../services/operations/audit.ts';
import { onlyOf, parseTime, readArguments, string } from './arguments.ts';
import type { Command } from './command.ts';
import { printAll } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';

export const audit: Command = {
  name: 'audit',
  usage: 'ORG [--since TIME] [--until TIME] [--noun NOUN] [--action ACTION] [--actor NAME] [--path PREFIX]',
  summary: 'Print the audit log of an organization as JSON lines, newest first.',
  details: `--since TIME     entries from this time on, such as 2026-01-31 or 2026-01-31T08:00:00Z
--until TIME     entries before this time
--noun NOUN      organization, channel, user, list, key, account, audit, …
--action ACTION  create, update, delete, read, export, "sign in", "sign in failed", …
--actor NAME     name of the key or email of the account
--path PREFIX    entries whose path starts with this text

The export itself is recorded in the audit log.`,
  examples: ['belfry audit acme --since 2026-01-01 > audit.jsonl', 'belfry audit acme --action "sign in failed"'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, {
      since: string,
      until: string,
      noun: string,
      action: string,
      actor: string,
      path: string,
    });
    const slug = onlyOf(positionals, 'name the organization: belfry audit ORG');
    const { since, until, ...rest } = values;
    const filter = { ...rest, since: parseTime('--since', since), until: parseTime('--until', until) };
    const query = Object.fromEntries(
      Object.entries(filter).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]],
      ),
    );
    const remote = remoteOf(terminal);
    if (remote) {
      const path = `/api/o/${encodeURIComponent(slug)}/audit/export/?${new URLSearchParams(query)}`;
      return printAll(remote.stream(path), terminal.print);
    }
    await withOrganization(terminal, slug, async (deps, id) => {
      await recordRead(deps, id, { action: 'export', noun: 'audit', path: '', after: query });
      await printAll(exportAudit(deps, id, filter), terminal.print);
    });
  },
};
