import { parseArgs } from 'node:util';
import {
  readTarget,
  type SuppressionReason,
  suppressionLimits,
  suppressionReasons,
} from '../core/audience/suppressions.ts';
import { media } from '../core/configuration/nouns/schemas.ts';
import { parseDuration } from '../core/durations.ts';
import { lookUp } from '../core/lookup.ts';
import { listSuppressions } from '../db/audience/suppressions.ts';
import * as suppressionList from '../services/audience/suppressions.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import type { Deps } from '../services/deps.ts';
import { recordRead } from '../services/operations/audit.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { readText } from './declarative-file.ts';
import { formatTable, printAll, printable } from './format.ts';
import { remoteOf } from './remote.ts';
import { maxLimit, type RowLimit, readRowLimit, rowOptions } from './rows.ts';

export const suppressions: Command = {
  name: 'suppressions',
  usage: 'list --org ORG | add --org ORG TARGET | remove --org ORG TARGET | import --org ORG FILE | export --org ORG',
  summary: 'List and change the addresses to which nothing is sent.',
  details: `TARGET is an address or, for email, @ and a domain.

list    List the newest entries.
  --org ORG
  --type TYPE       only entries of this channel type
  --reason REASON   only entries with this reason
  --search PREFIX   only targets that start with this text
  --limit N         at most N entries; default: 100
  --all             all entries
  --json            print JSON
add     Add an entry. Messages that are waiting are not sent either.
  --org ORG
  --type TYPE       channel type of the address; default: email
  --reason REASON   ${suppressionReasons.join(', ')}; default: manual
  --detail TEXT     a note
  --expires TIME    expiry as a duration (90d) or a time (2030-01-31T09:00:00Z); default: never
remove  Remove an entry. The address is sent to again.
  --org ORG
  --type TYPE       channel type of the address; default: email
import  Add all rows of a CSV file, or none; - is standard input.
  --org ORG
export  Print all entries as a CSV file that can be imported again.
  --org ORG`,
  examples: [
    'belfry suppressions add --org acme ada@example.com --detail "asked by phone"',
    'belfry suppressions remove --org acme ada@example.com',
    'belfry suppressions import --org acme bounces.csv',
  ],
  async run([action = '', ...args], terminal) {
    const run = lookUp(actions, action);
    if (!run) throw usageError('choose list, add, remove, import or export: see `belfry help suppressions`');
    return run(args, terminal);
  },
};

const actions: Record<string, (args: string[], terminal: Terminal) => Promise<number>> = {
  list,
  add,
  remove,
  import: importFile,
  export: exportFile,
};

interface Entry {
  id: number;
  channel_type: string;
  target: string;
  reason: string;
  source: string;
  detail: string | null;
  since: string;
  expires_at: string | null;
  projects: string[] | null;
}

const rowLimits = { default: 100, max: maxLimit };

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      org: { type: 'string' },
      type: { type: 'string' },
      reason: { type: 'string' },
      search: { type: 'string' },
      ...rowOptions,
      json: { type: 'boolean' },
    },
  });
  const limit = readRowLimit(values, rowLimits);
  const org = orgOf(values.org);
  const channel_type = values.type === undefined ? undefined : typeOf(values.type);
  const filter = { channel_type, reason: reasonOf(values.reason), search: values.search };
  const { shown: entries, more } = limit.take(await find(terminal, org, filter, limit));
  if (values.json) terminal.print(JSON.stringify(entries, null, 2));
  else if (entries.length === 0) terminal.print('No entries.');
  else
    terminal.print(
      formatTable([
        ['ID', 'TYPE', 'TARGET', 'REASON', 'SOURCE', 'SINCE', 'EXPIRES', 'PROJECTS', 'DETAIL'],
        ...entries.map(one => [
          String(one.id),
          one.channel_type,
          one.target,
          one.reason,
          one.source,
          one.since.slice(0, 10),
          one.expires_at?.slice(0, 10) ?? 'never',
          one.projects?.join(' ') ?? 'all',
          one.detail ?? '',
        ]),
      ]),
    );
  if (more && !values.json) terminal.print(more);
  return 0;
}

interface Filter {
  channel_type: string | undefined;
  reason?: SuppressionReason | undefined;
  search: string | undefined;
}

async function find(terminal: Terminal, org: string, filter: Filter, limit: RowLimit): Promise<Entry[]> {
  const remote = remoteOf(terminal);
  if (remote) {
    const query = new URLSearchParams(limit.query);
    for (const [name, value] of Object.entries(filter)) if (value) query.set(name, value);
    return remote.request<Entry[]>('GET', `${pathOf(org)}?${query}`);
  }
  const rows = await withOrganization(terminal, org, (deps, id) =>
    listSuppressions(deps.db, id, filter, { after: 0, limit: limit.toRead }),
  );
  // Times become strings, as in the response of a server.
  return JSON.parse(JSON.stringify(rows)) as Entry[];
}

async function add(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: {
      org: { type: 'string' },
      type: { type: 'string' },
      reason: { type: 'string' },
      detail: { type: 'string' },
      expires: { type: 'string' },
    },
    allowPositionals: true,
  });
  const org = orgOf(values.org);
  if (values.detail && values.detail.length > suppressionLimits.detail)
    throw usageError(`--detail must have at most ${suppressionLimits.detail} characters`);
  const input = {
    channel_type: typeOf(values.type ?? 'email'),
    target: only(positionals, 'an address or domain'),
    reason: reasonOf(values.reason) ?? 'manual',
    detail: values.detail ?? null,
    expires_at: values.expires ? expiryOf(values.expires, Date.now()) : null,
  };
  const remote = remoteOf(terminal);
  const { target } = remote
    ? await remote.request<Entry>('POST', pathOf(org), input)
    : await withOrganization(terminal, org, (deps, id) => suppressionList.createSuppression(deps, id, input));
  terminal.print(`Added ${printable(target)}.`);
  return 0;
}

async function remove(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: { org: { type: 'string' }, type: { type: 'string' } },
    allowPositionals: true,
  });
  const org = orgOf(values.org);
  const channel_type = typeOf(values.type ?? 'email');
  const read = readTarget(channel_type, only(positionals, 'an address or domain'));
  if ('mistake' in read) throw usageError(`TARGET ${read.mistake}`);
  const { value: target } = read;
  const found = await find(
    terminal,
    org,
    { channel_type, search: target },
    readRowLimit({ limit: String(maxLimit) }, rowLimits),
  );
  const entry = found.find(one => one.target === target);
  if (!entry) throw usageError(`${printable(target)} is not on the suppression list of ${org}`);
  const remote = remoteOf(terminal);
  if (remote) await remote.request('DELETE', `${pathOf(org)}${entry.id}/`);
  else {
    await withOrganization(terminal, org, (deps, id) =>
      suppressionList.deleteSuppression(deps, id, entry.id, false, () => {}),
    );
  }
  terminal.print(`Removed ${printable(target)}.`);
  return 0;
}

interface Imported {
  added: number;
  extended: number;
  existing: number;
}

async function importFile(args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({ args, options: { org: { type: 'string' } }, allowPositionals: true });
  const org = orgOf(values.org);
  const text = await readText(only(positionals, 'a file, or - for standard input'));
  const remote = remoteOf(terminal);
  const { added, extended, existing }: Imported = remote
    ? await remote.request('POST', `${pathOf(org)}import/`, text, 'text/csv')
    : await withOrganization(terminal, org, (deps, id) => suppressionList.importSuppressions(deps, id, text));
  terminal.print(`Added ${added}, extended ${extended}, left ${existing} unchanged.`);
  return 0;
}

async function exportFile(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' } } });
  const org = orgOf(values.org);
  const remote = remoteOf(terminal);
  if (remote) await printAll(remote.stream(`${pathOf(org)}export/`), terminal.print);
  else {
    await withOrganization(terminal, org, async (deps, id) => {
      await recordRead(deps, id, { action: 'export', noun: 'suppression', path: 'suppressions' });
      await printAll(suppressionList.exportSuppressions(deps, id), terminal.print);
    });
  }
  return 0;
}

function withOrganization<T>(
  terminal: Terminal,
  org: string,
  work: (deps: Deps, id: number) => Promise<T>,
): Promise<T> {
  return terminal.withDeps(async deps => work(deps, (await getOrganization(deps, org)).id));
}

const pathOf = (org: string) => `/api/o/${encodeURIComponent(org)}/suppressions/`;

function orgOf(org: string | undefined): string {
  if (!org) throw usageError('--org is missing: see `belfry help suppressions`');
  return org;
}

function only([first, ...others]: string[], what: string): string {
  if (!first || others.length > 0) throw usageError(`name ${what}: see \`belfry help suppressions\``);
  return first;
}

function typeOf(text: string): string {
  if (!(media as readonly string[]).includes(text)) throw usageError(`--type must be one of ${media.join(', ')}`);
  return text;
}

function reasonOf(text: string | undefined): SuppressionReason | undefined {
  const reason = suppressionReasons.find(one => one === text);
  if (text !== undefined && !reason) throw usageError(`--reason must be one of ${suppressionReasons.join(', ')}`);
  return reason;
}

function expiryOf(text: string, now: number): Date {
  const duration = parseDuration(text);
  const at = duration ? now + duration : Date.parse(text);
  if (Number.isNaN(at))
    throw usageError('--expires must be a duration such as 90d or a time such as 2030-01-31T09:00:00Z');
  return new Date(at);
}
