import { parseArgs } from 'node:util';
import { getOrganization } from '../services/configuration/organizations.ts';
import { listInstanceWebhooks, setInstanceWide } from '../services/configuration/webhooks.ts';
import { type Command, requireDatabaseHere, type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';

export const webhook: Command = {
  name: 'webhook',
  usage: 'list [--json] | widen --org ORG --webhook WEBHOOK | narrow --org ORG --webhook WEBHOOK',
  summary: 'Let a webhook of the operator report on every organization.',
  details: `list    List the webhooks that report on every organization.
  --json             print JSON
widen   Let this webhook report on every organization.
  --org ORG          organization of the webhook
  --webhook WEBHOOK  slug of the webhook
narrow  Let this webhook report on its own organization only.
  --org ORG          organization of the webhook
  --webhook WEBHOOK  slug of the webhook

First create the webhook in your own organization, in the console or with the API. Anyone who can view the webhooks of that
organization can see what a widened webhook reports, and anyone who can change them decides where it is sent. Works directly
on the database, also while a server is running, and takes effect immediately. See docs/guides/webhooks.md.`,
  examples: ['belfry webhook widen --org ops --webhook incidents', 'belfry webhook list'],
  async run([action, ...args], terminal) {
    switch (action) {
      case 'list':
        return list(args, terminal);
      case 'widen':
        return set(args, terminal, true);
      case 'narrow':
        return set(args, terminal, false);
      default:
        throw usageError('choose list, widen or narrow: see `belfry help webhook`');
    }
  },
};

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
  requireDatabaseHere(terminal);
  const found = await terminal.withDeps(listInstanceWebhooks);
  if (values.json) terminal.print(JSON.stringify(found, null, 2));
  else if (found.length === 0) terminal.print('No webhook reports on every organization: see `belfry help webhook`.');
  else {
    const rows = found.map(({ organization, slug, url, types, active }) => [
      `${organization}/${slug}`,
      active ? 'yes' : 'no',
      url,
      types.join(' '),
    ]);
    terminal.print(formatTable([['WEBHOOK', 'ACTIVE', 'URL', 'TYPES'], ...rows]));
  }
  return 0;
}

async function set(args: string[], terminal: Terminal, isWide: boolean): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' }, webhook: { type: 'string' } } });
  const { org, webhook: slug } = values;
  if (!org || !slug) throw usageError(`--${org ? 'webhook' : 'org'} is missing: see \`belfry help webhook\``);
  requireDatabaseHere(terminal);
  await terminal.withDeps(async deps => setInstanceWide(deps, (await getOrganization(deps, org)).id, slug, isWide));
  terminal.print(`${org}/${slug} now reports on ${isWide ? 'every organization' : 'its own organization only'}.`);
  return 0;
}
