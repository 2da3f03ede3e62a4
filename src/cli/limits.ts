import { parseArgs } from 'node:util';
import { largestLimit, limitNames, type OrganizationLimits } from '../core/limits.ts';
import { changeLimits, type DescribedLimits, describeLimits } from '../services/limits.ts';
import { getOrganization } from '../services/organizations.ts';
import { type Command, type Terminal, wrongUsage } from './command.ts';
import { formatTable } from './format.ts';
import { remoteOf } from './remote.ts';

/** --triggers-per-second for triggers_per_second. */
const optionOf = (name: string) => name.replaceAll('_', '-');
const options = Object.fromEntries(limitNames.map(name => [optionOf(name), { type: 'string' as const }]));

export const limits: Command = {
  name: 'limits',
  usage: 'show --org O | set --org O --users N …',
  summary: 'Shows and sets what an organization may take of this installation.',
  details: `show  --org O [--json]
set   --org O [--json]              each is a number, or none for no limit; what is not given stays
      --triggers-per-second N       in each API process; more are answered with 429
      --deliveries-per-trigger N    the rest is not sent, and the occurrence says so
      --users N                     nobody can create more
      --stored-messages N           at the limit, triggers are refused until some are old enough to be deleted

Setting works on the database, also while a server runs, and takes effect within a second.`,
  examples: ['belfry limits show --org acme', 'belfry limits set --org acme --users 100000 --stored-messages none'],
  async run([action, ...args], terminal) {
    switch (action) {
      case 'show':
        return show(args, terminal);
      case 'set':
        return set(args, terminal);
      default:
        throw wrongUsage('say limits show or limits set: see `belfry help limits`');
    }
  },
};

async function show(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' }, json: { type: 'boolean' } } });
  const org = requireOrg(values.org);
  const remote = remoteOf(terminal.config);
  const described = remote
    ? await remote.request<DescribedLimits>('GET', `/api/o/${encodeURIComponent(org)}/limits/`)
    : await terminal.withDeps(async deps => describeLimits(deps, (await getOrganization(deps, org)).id));
  print(terminal, described, values.json);
  return 0;
}

async function set(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { ...options, org: { type: 'string' }, json: { type: 'boolean' } },
  });
  const given = values as Record<string, string | undefined>;
  const org = requireOrg(given.org);
  const changes: Partial<OrganizationLimits> = {};
  for (const name of limitNames) {
    const text = given[optionOf(name)];
    if (text !== undefined) changes[name] = parseLimit(name, text);
  }
  if (Object.keys(changes).length === 0) throw wrongUsage('name a limit to set: see `belfry help limits`');
  // A key belongs to one organization, which does not set its own limits.
  if (terminal.config.url)
    throw wrongUsage('limits are set on the database itself, or in the console: unset BELFRY_URL');
  const described = await terminal.withDeps(async deps =>
    changeLimits(deps, await getOrganization(deps, org), changes),
  );
  print(terminal, described, values.json);
  return 0;
}

function print(terminal: Terminal, described: DescribedLimits, json = false): void {
  if (json) {
    terminal.print(JSON.stringify(described, null, 2));
    return;
  }
  const used: Partial<Record<keyof OrganizationLimits, number>> = described.used;
  terminal.print(
    formatTable([
      ['LIMIT', 'MAY BE', 'IS'],
      ...limitNames.map(name => [optionOf(name), String(described[name] ?? 'none'), String(used[name] ?? '')]),
    ]),
  );
}

function parseLimit(name: keyof OrganizationLimits, text: string): number | null {
  if (text === 'none') return null;
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= largestLimit[name]) return value;
  throw wrongUsage(`--${optionOf(name)} must be a whole number from 1 to ${largestLimit[name]}, or none`);
}

function requireOrg(org: string | undefined): string {
  if (!org) throw wrongUsage('--org is missing: see `belfry help limits`');
  return org;
}
