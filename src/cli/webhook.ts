import { getOrganization } from '../services/configuration/organizations.ts';
import { listInstanceWebhooks, setInstanceWide } from '../services/configuration/webhooks.ts';
import { flag, readOptions, requireOption, runAction, string } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal } from './command.ts';
import { printRows } from './rows.ts';

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
  run: runAction('webhook', {
    list,
    widen: (args, terminal) => set(args, terminal, true),
    narrow: (args, terminal) => set(args, terminal, false),
  }),
};

async function list(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { json: flag });
  requireDatabaseHere(terminal);
  const found = await terminal.withDeps(listInstanceWebhooks);
  printRows(terminal, found, values, 'No webhook reports on every organization: see `belfry help webhook`.', {
    WEBHOOK: ({ organization, slug }) => `${organization}/${slug}`,
    ACTIVE: ({ active }) => (active ? 'yes' : 'no'),
    URL: ({ url }) => url,
    TYPES: ({ types }) => types.join(' '),
  });
}

async function set(args: string[], terminal: Terminal, isWide: boolean): Promise<void> {
  const values = readOptions(args, { org: string, webhook: string });
  const org = requireOption('webhook', '--org', values.org);
  const slug = requireOption('webhook', '--webhook', values.webhook);
  requireDatabaseHere(terminal);
  await terminal.withDeps(async deps => setInstanceWide(deps, (await getOrganization(deps, org)).id, slug, isWide));
  terminal.print(`${org}/${slug} now reports on ${isWide ? 'every organization' : 'its own organization only'}.`);
}
