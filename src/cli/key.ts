import { parseArgs } from 'node:util';
import { parseDuration } from '../core/durations.ts';
import { permissions } from '../core/permissions.ts';
import { createKey, listKeys, revokeKey } from '../services/keys.ts';
import { getOrganization } from '../services/organizations.ts';
import { type Command, type Terminal, wrongUsage } from './command.ts';
import { formatTable } from './format.ts';
import { remoteOf } from './remote.ts';

export const key: Command = {
  name: 'key',
  usage: 'create --org O --name N --permission X… | list --org O | revoke --org O KEY',
  summary: 'Creates, lists and revokes API keys.',
  details: `create  --org O --name N --permission X (repeat, or separate by commas; * means all)
        [--project P] [--application A]   narrow it to a project or an application
        [--expires D]                     a duration (90d) or a time (2030-01-31T09:00:00Z)
        [--rate N]                        at most N requests a second
        [--allow A]                       only from this address or network (10.0.0.0/8); repeat, or separate by commas
        Prints the key alone on standard output; it is shown this once.
list    --org O [--json]
revoke  --org O KEY                       by id or name; refused everywhere within a second

Permissions: ${permissions.join(', ')}.`,
  examples: [
    'belfry key create --org acme --name shop --permission event:trigger --expires 90d',
    'belfry key list --org acme',
    'belfry key revoke --org acme shop',
  ],
  async run([action, ...args], terminal) {
    switch (action) {
      case 'create':
        return create(args, terminal);
      case 'list':
        return list(args, terminal);
      case 'revoke':
        return revoke(args, terminal);
      default:
        throw wrongUsage('say key create, key list or key revoke: see `belfry help key`');
    }
  },
};

async function create(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      org: { type: 'string' },
      project: { type: 'string' },
      application: { type: 'string' },
      name: { type: 'string' },
      permission: { type: 'string', multiple: true },
      expires: { type: 'string' },
      rate: { type: 'string' },
      allow: { type: 'string', multiple: true },
      json: { type: 'boolean' },
    },
  });
  const org = required(values.org, '--org');
  const input = {
    name: required(values.name?.trim(), '--name').normalize('NFC'),
    project: values.project,
    application: values.application,
    permissions: (values.permission ?? []).flatMap(text => text.split(',')).filter(Boolean),
    expires_at: values.expires ? parseExpiry(values.expires, Date.now()) : null,
    requests_per_second: values.rate ? parseRate(values.rate) : null,
    allowed_networks: values.allow ? values.allow.flatMap(text => text.split(',')).filter(Boolean) : null,
  };
  if (input.permissions.length === 0) throw wrongUsage('--permission is missing: give at least one, or * for all');
  if (input.allowed_networks?.length === 0) throw wrongUsage('--allow must name an address or a network');
  if (input.application && !input.project) throw wrongUsage('--application needs --project too');

  const remote = remoteOf(terminal.config);
  const created = remote
    ? await remote.request<{ id: string; key: string }>('POST', `/api/o/${encodeURIComponent(org)}/k/`, input)
    : await terminal.withDeps(deps => createKey(deps, org, input));
  terminal.print(values.json ? JSON.stringify({ id: created.id, name: input.name, key: created.key }) : created.key);
  return 0;
}

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' }, json: { type: 'boolean' } } });
  const org = required(values.org, '--org');
  const remote = remoteOf(terminal.config);
  const fetched = remote
    ? await remote.request<KeyRow[]>('GET', `/api/o/${encodeURIComponent(org)}/k/`)
    : await terminal.withDeps(async deps => listKeys(deps, (await getOrganization(deps, org)).id));
  // The same text for both: times as they travel.
  const rows = JSON.parse(JSON.stringify(fetched)) as KeyRow[];
  if (values.json) terminal.print(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.print(`${org} has no keys yet: see \`belfry help key\`.`);
  else
    terminal.print(
      formatTable([
        ['ID', 'NAME', 'REACHES', 'STATE', 'LAST USED', 'PERMISSIONS'],
        ...rows.map(row => describe(org, row)),
      ]),
    );
  return 0;
}

async function revoke(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({ args, options: { org: { type: 'string' } }, allowPositionals: true });
  const org = required(values.org, '--org');
  const [name, ...rest] = positionals;
  if (!name || rest.length > 0) throw wrongUsage('name one key to revoke, by its id or name');
  const remote = remoteOf(terminal.config);
  if (remote) await remote.request('POST', `/api/o/${encodeURIComponent(org)}/k/revoke/`, { key: name });
  else await terminal.withDeps(async deps => revokeKey(deps, (await getOrganization(deps, org)).id, name));
  terminal.print(`Revoked ${name}.`);
  return 0;
}

interface KeyRow {
  id: string;
  name: string;
  project: string | null;
  application: string | null;
  permissions: string[];
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

function describe(org: string, row: KeyRow): string[] {
  const expired = row.expires_at && Date.parse(row.expires_at) <= Date.now();
  const state = row.revoked_at
    ? 'revoked'
    : expired
      ? 'expired'
      : row.expires_at
        ? `until ${row.expires_at.slice(0, 10)}`
        : 'active';
  const place = [org, row.project, row.application].filter(Boolean).join('/');
  return [
    row.id,
    row.name,
    place,
    state,
    row.last_used_at?.slice(0, 16).replace('T', ' ') ?? 'never',
    row.permissions.join(' '),
  ];
}

function required(value: string | undefined, option: string): string {
  if (!value) throw wrongUsage(`${option} is missing: see \`belfry help key\``);
  return value;
}

function parseExpiry(text: string, now: number): Date {
  const duration = parseDuration(text);
  const at = duration ? now + duration : Date.parse(text);
  if (Number.isNaN(at))
    throw wrongUsage('--expires must be a duration such as 90d or a time such as 2030-01-31T09:00:00Z');
  if (at <= now) throw wrongUsage('--expires lies in the past');
  return new Date(at);
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (!Number.isInteger(rate) || rate < 1) throw wrongUsage('--rate must be a whole number of requests a second');
  return rate;
}
