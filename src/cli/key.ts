import { parseArgs } from 'node:util';
import { parseDuration } from '../core/durations.ts';
import { permissions } from '../core/identity/permissions.ts';
import { listKeys } from '../db/identity/keys.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import { createKey, revokeKey } from '../services/identity/keys.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTable, formatTime, formatWords } from './format.ts';
import { remoteOf } from './remote.ts';

export const key: Command = {
  name: 'key',
  usage: 'create --org ORG --name NAME --permission PERMISSION… | list --org ORG | revoke --org ORG KEY',
  summary: 'Create, list and revoke API keys.',
  details: `create  Create a key and print it. It is shown only once.
  --org ORG                organization of the key
  --name NAME              name of the key, unique within the organization
  --permission PERMISSION  permission to grant, or * for all; repeat the option or separate by commas
  --project PROJECT        limit the key to a project
  --application APP        limit the key to an application of the project
  --expires TIME           expiry as a duration (90d) or a time (2030-01-31T09:00:00Z); default: never
  --rate N                 limit to N requests per second
  --allow NETWORK          allow only this address or network (10.0.0.0/8); repeat the option or separate by commas
  --json                   print id, name and key as JSON
list    List the keys of an organization.
  --org ORG
  --json                   print JSON
revoke  Revoke the key with this id or name. It stops working within a second.
  --org ORG

Permissions:
${formatWords(permissions, 118).replaceAll(/^/gm, '  ')}`,
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
        throw usageError('choose create, list or revoke: see `belfry help key`');
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
  if (input.permissions.length === 0) throw usageError('--permission is missing: name at least one, or * for all');
  if (input.allowed_networks?.length === 0) throw usageError('--allow must name an address or a network');
  if (input.application && !input.project) throw usageError('--application requires --project');

  const remote = remoteOf(terminal);
  const created = remote
    ? await remote.request<{ id: string; key: string }>('POST', `/api/o/${encodeURIComponent(org)}/k/`, input)
    : await terminal.withDeps(deps => createKey(deps, org, input));
  terminal.print(values.json ? JSON.stringify({ id: created.id, name: input.name, key: created.key }) : created.key);
  return 0;
}

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' }, json: { type: 'boolean' } } });
  const org = required(values.org, '--org');
  const remote = remoteOf(terminal);
  const fetched = remote
    ? await remote.request<KeyRow[]>('GET', `/api/o/${encodeURIComponent(org)}/k/`)
    : await terminal.withDeps(async deps => listKeys(deps.db, (await getOrganization(deps, org)).id));
  // Times become strings, as in the response of a server.
  const rows = JSON.parse(JSON.stringify(fetched)) as KeyRow[];
  if (values.json) terminal.print(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) terminal.print(`${org} has no keys yet. Create one: see \`belfry help key\`.`);
  else
    terminal.print(
      formatTable([
        ['ID', 'NAME', 'SCOPE', 'STATE', 'LAST USED', 'PERMISSIONS'],
        ...rows.map(row => describe(org, row)),
      ]),
    );
  return 0;
}

async function revoke(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({ args, options: { org: { type: 'string' } }, allowPositionals: true });
  const org = required(values.org, '--org');
  const [name, ...rest] = positionals;
  if (!name || rest.length > 0) throw usageError('name one key to revoke, by its id or name');
  const remote = remoteOf(terminal);
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
        ? `until ${formatTime(row.expires_at)}`
        : 'active';
  const scope = [org, row.project, row.application].filter(Boolean).join('/');
  return [
    row.id,
    row.name,
    scope,
    state,
    row.last_used_at ? formatTime(row.last_used_at) : 'never',
    row.permissions.join(' '),
  ];
}

function required(value: string | undefined, option: string): string {
  if (!value) throw usageError(`${option} is missing: see \`belfry help key\``);
  return value;
}

function parseExpiry(text: string, now: number): Date {
  const duration = parseDuration(text);
  const at = duration ? now + duration : Date.parse(text);
  if (Number.isNaN(at))
    throw usageError('--expires must be a duration such as 90d or a time such as 2030-01-31T09:00:00Z');
  if (at <= now) throw usageError('--expires must be in the future');
  return new Date(at);
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (!Number.isInteger(rate) || rate < 1) throw usageError('--rate must be a whole number of requests per second');
  return rate;
}
