import {
  readTarget,
  type SuppressionReason,
  suppressionLimits,
  suppressionReasons,
} from '../core/audience/suppressions.ts';
import { media } from '../core/configuration/nouns/schemas.ts';
import { listSuppressions, type SuppressionRow } from '../db/audience/suppressions.ts';
import * as suppressionList from '../services/audience/suppressions.ts';
import { recordRead } from '../services/operations/audit.ts';
import {
  flag,
  oneOf,
  onlyOf,
  parseExpiry,
  readArguments,
  readOptions,
  requireOption,
  runAction,
  string,
} from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { readText } from './declarative-file.ts';
import { printAll, printable } from './format.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { asSent, maxLimit, printRows, type RowLimit, readRowLimit, rowOptions, type Sent } from './rows.ts';

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
  run: runAction('suppressions', { list, add, remove, import: importFile, export: exportFile }),
};

type Entry = Sent<SuppressionRow>;

const rowLimits = { default: 100, max: maxLimit };

async function list(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, {
    org: string,
    type: string,
    reason: string,
    search: string,
    ...rowOptions,
    json: flag,
  });
  const limit = readRowLimit(values, rowLimits);
  const org = requireOption('suppressions', '--org', values.org);
  const reason = oneOf('--reason', suppressionReasons, values.reason);
  const filter = { channel_type: oneOf('--type', media, values.type), reason, search: values.search };
  const { shown, more } = limit.take(await find(terminal, org, filter, limit));
  printRows(terminal, shown, { json: values.json, more }, 'No entries.', {
    ID: one => String(one.id),
    TYPE: one => one.channel_type,
    TARGET: one => one.target,
    REASON: one => one.reason,
    SOURCE: one => one.source,
    SINCE: one => one.since.slice(0, 10),
    EXPIRES: one => one.expires_at?.slice(0, 10) ?? 'never',
    PROJECTS: one => one.projects?.join(' ') ?? 'all',
    DETAIL: one => one.detail ?? '',
  });
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
  return asSent(rows);
}

async function add(args: string[], terminal: Terminal): Promise<void> {
  const { values, positionals } = readArguments(args, {
    org: string,
    type: string,
    reason: string,
    detail: string,
    expires: string,
  });
  const org = requireOption('suppressions', '--org', values.org);
  if (values.detail && values.detail.length > suppressionLimits.detail)
    throw usageError(`--detail must have at most ${suppressionLimits.detail} characters`);
  const input = {
    channel_type: oneOf('--type', media, values.type) ?? 'email',
    target: onlyOf(positionals, 'name an address or domain: see `belfry help suppressions`'),
    reason: oneOf('--reason', suppressionReasons, values.reason) ?? 'manual',
    detail: values.detail ?? null,
    expires_at: parseExpiry(values.expires),
  };
  const remote = remoteOf(terminal);
  const { target } = remote
    ? await remote.request<Entry>('POST', pathOf(org), input)
    : await withOrganization(terminal, org, (deps, id) => suppressionList.createSuppression(deps, id, input));
  terminal.print(`Added ${printable(target)}.`);
}

async function remove(args: string[], terminal: Terminal): Promise<void> {
  const { values, positionals } = readArguments(args, { org: string, type: string });
  const org = requireOption('suppressions', '--org', values.org);
  const channel_type = oneOf('--type', media, values.type) ?? 'email';
  const read = readTarget(
    channel_type,
    onlyOf(positionals, 'name an address or domain: see `belfry help suppressions`'),
  );
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
}

interface Imported {
  added: number;
  extended: number;
  existing: number;
}

async function importFile(args: string[], terminal: Terminal): Promise<void> {
  const { values, positionals } = readArguments(args, { org: string });
  const org = requireOption('suppressions', '--org', values.org);
  const text = await readText(
    onlyOf(positionals, 'name a file, or - for standard input: see `belfry help suppressions`'),
  );
  const remote = remoteOf(terminal);
  const { added, extended, existing }: Imported = remote
    ? await remote.request('POST', `${pathOf(org)}import/`, text, 'text/csv')
    : await withOrganization(terminal, org, (deps, id) => suppressionList.importSuppressions(deps, id, text));
  terminal.print(`Added ${added}, extended ${extended}, left ${existing} unchanged.`);
}

async function exportFile(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { org: string });
  const org = requireOption('suppressions', '--org', values.org);
  const remote = remoteOf(terminal);
  if (remote) await printAll(remote.stream(`${pathOf(org)}export/`), terminal.print);
  else {
    await withOrganization(terminal, org, async (deps, id) => {
      await recordRead(deps, id, { action: 'export', noun: 'suppression', path: 'suppressions' });
      await printAll(suppressionList.exportSuppressions(deps, id), terminal.print);
    });
  }
}

const pathOf = (org: string) => `/api/o/${encodeURIComponent(org)}/suppressions/`;
