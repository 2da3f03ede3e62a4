import { limitNames, maxLimits, type OrganizationLimits } from '../core/configuration/limits.ts';
import { changeLimits, getLimits, type LimitsWithUsage } from '../services/configuration/limits/limits.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { flag, readOptions, requireOption, runAction, string } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';

/** Returns `triggers-per-second` for `triggers_per_second`. */
const optionOf = (name: string) => name.replaceAll('_', '-');
const options = Object.fromEntries(limitNames.map(name => [optionOf(name), string]));

export const limits: Command = {
  name: 'limits',
  usage: 'show --org ORG | set --org ORG [--LIMIT N|none…]',
  summary: 'Show and set the limits of an organization.',
  details: `show  Show the limits of an organization and their current usage.
  --org ORG
  --json                      print JSON
set   Set limits to a number, or to none for no limit. Other limits stay unchanged.
  --org ORG
  --triggers-per-second N     per API process; triggers above the limit get 429
  --deliveries-per-trigger N  deliveries above the limit are not sent, and the occurrence reports it
  --users N                   users above the limit cannot be created
  --stored-messages N         at the limit, triggers are refused until old messages are deleted by retention
  --attachment-bytes N        at the limit, no further file is stored until old ones are deleted by retention
  --json                      print JSON

\`set\` works directly on the database, also while a server is running, and takes effect within a second.`,
  examples: ['belfry limits show --org acme', 'belfry limits set --org acme --users 100000 --stored-messages none'],
  run: runAction('limits', { show, set }),
};

async function show(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { org: string, json: flag });
  const org = requireOption('limits', '--org', values.org);
  const remote = remoteOf(terminal);
  const described = remote
    ? await remote.request<LimitsWithUsage>('GET', `/api/o/${encodeURIComponent(org)}/limits/`)
    : await withOrganization(terminal, org, getLimits);
  print(terminal, described, values.json);
}

async function set(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { ...options, org: string, json: flag });
  const texts = values as Record<string, string | undefined>;
  const org = requireOption('limits', '--org', texts.org);
  const changes: Partial<OrganizationLimits> = {};
  for (const name of limitNames) {
    const text = texts[optionOf(name)];
    if (text !== undefined) changes[name] = parseLimit(name, text);
  }
  if (Object.keys(changes).length === 0) throw usageError('name a limit to set: see `belfry help limits`');
  // An API key belongs to one organization, which cannot set its own limits.
  requireDatabaseHere(terminal);
  const described = await terminal.withDeps(async deps =>
    changeLimits(deps, await getOrganization(deps, org), changes),
  );
  print(terminal, described, values.json);
}

function print(terminal: Terminal, described: LimitsWithUsage, json = false): void {
  if (json) {
    terminal.print(JSON.stringify(described, null, 2));
    return;
  }
  const used: Partial<Record<keyof OrganizationLimits, number>> = described.used;
  terminal.print(
    formatTable([
      ['LIMIT', 'MAX', 'USED'],
      ...limitNames.map(name => [optionOf(name), String(described[name] ?? 'none'), String(used[name] ?? '')]),
    ]),
  );
}

function parseLimit(name: keyof OrganizationLimits, text: string): number | null {
  if (text === 'none') return null;
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= maxLimits[name]) return value;
  throw usageError(`--${optionOf(name)} must be a whole number from 1 to ${maxLimits[name]}, or none`);
}
