import { permissions } from '../core/identity/permissions.ts';
import { type KeyView, listKeys } from '../db/identity/keys.ts';
import { createKey, revokeKey } from '../services/identity/keys.ts';
import {
  flag,
  onlyOf,
  parseExpiry,
  readArguments,
  readOptions,
  requireOption,
  runAction,
  string,
  strings,
} from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTime, formatWords } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, printRows, type Sent } from './rows.ts';

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
  run: runAction('key', { create, list, revoke }),
};

async function create(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, {
    org: string,
    project: string,
    application: string,
    name: string,
    permission: strings,
    expires: string,
    rate: string,
    allow: strings,
    json: flag,
  });
  const org = requireOption('key', '--org', values.org);
  const input = {
    name: requireOption('key', '--name', values.name?.trim()).normalize('NFC'),
    project: values.project,
    application: values.application,
    permissions: (values.permission ?? []).flatMap(text => text.split(',')).filter(Boolean),
    expires_at: parseExpiry(values.expires),
    requests_per_second: values.rate ? parseRate(values.rate) : null,
    allowed_networks: values.allow ? values.allow.flatMap(text => text.split(',')).filter(Boolean) : null,
  };
  if (input.expires_at && input.expires_at.getTime() <= Date.now()) throw usageError('--expires must be in the future');
  if (input.permissions.length === 0) throw usageError('--permission is missing: name at least one, or * for all');
  if (input.allowed_networks?.length === 0) throw usageError('--allow must name an address or a network');
  if (input.application && !input.project) throw usageError('--application requires --project');

  const remote = remoteOf(terminal);
  const created = remote
    ? await remote.request<{ id: string; key: string }>('POST', `/api/o/${encodeURIComponent(org)}/k/`, input)
    : await terminal.withDeps(deps => createKey(deps, org, input));
  terminal.print(values.json ? JSON.stringify({ id: created.id, name: input.name, key: created.key }) : created.key);
}

async function list(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { org: string, json: flag });
  const org = requireOption('key', '--org', values.org);
  const remote = remoteOf(terminal);
  const found: KeyRow[] = remote
    ? await remote.request('GET', `/api/o/${encodeURIComponent(org)}/k/`)
    : asSent(await withOrganization(terminal, org, ({ db }, id) => listKeys(db, id)));
  printRows(terminal, found, values, `${org} has no keys yet. Create one: see \`belfry help key\`.`, {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    SCOPE: ({ project, application }) => [org, project, application].filter(Boolean).join('/'),
    STATE: stateOf,
    'LAST USED': ({ last_used_at }) => (last_used_at ? formatTime(last_used_at) : 'never'),
    PERMISSIONS: ({ permissions }) => permissions.join(' '),
  });
}

async function revoke(args: string[], terminal: Terminal): Promise<void> {
  const { values, positionals } = readArguments(args, { org: string });
  const org = requireOption('key', '--org', values.org);
  const name = onlyOf(positionals, 'name one key to revoke, by its id or name');
  const remote = remoteOf(terminal);
  if (remote) await remote.request('POST', `/api/o/${encodeURIComponent(org)}/k/revoke/`, { key: name });
  else await withOrganization(terminal, org, (deps, id) => revokeKey(deps, id, name));
  terminal.print(`Revoked ${name}.`);
}

type KeyRow = Sent<KeyView>;

function stateOf({ revoked_at, expires_at }: KeyRow): string {
  if (revoked_at) return 'revoked';
  if (!expires_at) return 'active';
  return Date.parse(expires_at) <= Date.now() ? 'expired' : `until ${formatTime(expires_at)}`;
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (!Number.isInteger(rate) || rate < 1) throw usageError('--rate must be a whole number of requests per second');
  return rate;
}
