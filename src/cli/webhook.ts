import { parseArgs } from 'node:util';
import { getOrganization } from '../services/organizations.ts';
import { listInstanceWebhooks, setInstanceWide } from '../services/webhooks.ts';
import { type Command, requireDatabaseHere, type Terminal, wrongUsage } from './command.ts';
import { formatTable } from './format.ts';

export const webhook: Command = {
  name: 'webhook',
  usage: 'list | widen --org O --webhook W | narrow --org O --webhook W',
  summary: "Has a webhook told of what happens in every organization: the operator's own.",
  details: `list    [--json]                    the webhooks that are told of every organization
widen   --org O --webhook W         this one is, from now on
narrow  --org O --webhook W         it is told of its own organization alone again

Create the webhook in an organization of your own, in the console or by the API, and widen it. Whoever may see and change the
webhooks of that organization sees what this one is told, and decides where it goes. Works on the database, also while a
server runs, and takes effect at once. See docs/guides/webhooks.md.`,
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
        throw wrongUsage('say webhook list, webhook widen or webhook narrow: see `belfry help webhook`');
    }
  },
};

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
  requireDatabaseHere(terminal);
  const found = await terminal.withDeps(listInstanceWebhooks);
  if (values.json) terminal.print(JSON.stringify(found, null, 2));
  else if (found.length === 0) terminal.print('No webhook is told of every organization: see `belfry help webhook`.');
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
  if (!org || !slug) throw wrongUsage(`--${org ? 'webhook' : 'org'} is missing: see \`belfry help webhook\``);
  requireDatabaseHere(terminal);
  await terminal.withDeps(async deps => setInstanceWide(deps, (await getOrganization(deps, org)).id, slug, isWide));
  terminal.print(`${org}/${slug} is told of ${isWide ? 'every organization' : 'its own organization alone'}.`);
  return 0;
}
