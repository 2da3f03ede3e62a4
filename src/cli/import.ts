import type { OrganizationDocument } from '../core/configuration/document.ts';
import { compareShifts, type Difference } from '../core/import/check.ts';
import type { ImportedSchedule } from '../core/import/imported.ts';
import { lookUp } from '../core/lookup.ts';
import { compileSchedule } from '../core/oncall/schedule.ts';
import { exportConfiguration } from '../services/configuration/declarative/declarative.ts';
import { flag, onlyOf, readArguments, requireOption, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { runOnFiles } from './declarative-run.ts';
import { formatCount, formatTime, printable } from './format.ts';
import { describeNote, readSaved, save, type Target, toDocument, writeConfiguration } from './import/file.ts';
import { grafanaOnCall } from './import/grafana-oncall.ts';
import { opsgenie } from './import/opsgenie.ts';
import { pagerduty } from './import/pagerduty.ts';
import type { ImportedSystem, Loaded } from './import/system.ts';
import { remoteOf } from './remote.ts';

const systems: Record<string, ImportedSystem> = { 'grafana-oncall': grafanaOnCall, opsgenie, pagerduty };
const days = 90;
const maxDifferences = 10;

export const importCommand: Command = {
  name: 'import',
  usage:
    'SYSTEM [--url URL] [--token TOKEN] --org ORG [--project PRJ] [--application APP] [--channels CHANNELS] [--save FILE] ' +
    '[--to FILE] [--apply] | SYSTEM FILE --org ORG [--project PRJ] [--application APP] [--channels CHANNELS] [--to FILE] [--apply]',
  summary: 'Read the configuration of another on-call system, and plan it.',
  details: `SYSTEM               grafana-oncall, opsgenie or pagerduty
--url URL            address of its API; nothing is changed there. Default for pagerduty: https://api.pagerduty.com
--token TOKEN        its token; default: the environment variable IMPORT_TOKEN, which other users of the machine cannot see
--save FILE          keep what was read. It contains the tokens of integrations, but not TOKEN
FILE                 import from this file instead
--org ORG            the organization, which must exist and have the channels
--project PRJ        its project, created if needed; default: on-call
--application APP    the application of its alerts, created if needed; default: alerts
--channels CHANNELS  slugs or types of the channels that the steps use, with commas; default: personal, for grafana-oncall email
--to FILE            where the configuration is written; default: SYSTEM.yaml
--apply              also apply it

Each schedule is compared with the shifts that the other system has computed for ${days} days. What is not carried over is listed, and is in
the comments of the file. The plan is that of \`belfry plan FILE\`.`,
  examples: [
    'belfry import grafana-oncall --url https://oncall.acme.test --org acme --channels email,sms --save oncall.json',
    'belfry import grafana-oncall oncall.json --org acme --apply',
    'belfry import opsgenie --url https://api.eu.opsgenie.com --org acme --save opsgenie.json',
    'belfry import pagerduty --org acme --save pagerduty.json',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, options);
    const [name = '', ...files] = positionals;
    const system = lookUp(systems, name);
    if (!system) throw usageError(`name the system: ${Object.keys(systems).join(', ')}`);
    const org = requireOption('import', '--org', values.org);
    const loaded = await read(system, files, values, terminal);
    const target = await findTarget(terminal, org, values.project ?? 'on-call', values.application ?? 'alerts');
    const imported = loaded.convert({
      now: Date.parse(loaded.fetchedAt),
      project: `${org}/${target.project.slug}`,
      channels: readChannels(values.channels ?? system.defaultChannels),
    });
    const to = values.to ?? `${name}.yaml`;
    await writeConfiguration(to, name, toDocument(imported, target), imported.notes);
    terminal.print(describeChecks(imported.schedules));
    const count = imported.notes.length;
    if (count > 0) {
      const lines = imported.notes.map(note => `  ${describeNote(note)}`);
      terminal.print(['', `Not carried over, or not as it was (${formatCount(count)}):`, ...lines].join('\n'));
    }
    terminal.print(`\nWritten to ${to}.\n`);
    await runOnFiles(values.apply ? 'apply' : 'plan', [to], terminal);
  },
};

const options = {
  url: string,
  token: string,
  save: string,
  org: string,
  project: string,
  application: string,
  channels: string,
  to: string,
  apply: flag,
};

async function read(
  system: ImportedSystem,
  files: string[],
  values: { url?: string; token?: string; save?: string },
  { env, showProgress }: Terminal,
): Promise<Loaded> {
  const { token, save: saveTo } = values;
  const url = values.url ?? (files.length === 0 ? system.defaultUrl : undefined);
  if (!url) {
    const file = onlyOf(files, 'give the address with --url, or one file that --save has written');
    if (saveTo) throw usageError('--save needs --url');
    return system.parse(await readSaved(file));
  }
  if (files.length > 0) throw usageError('choose --url or a file');
  const secret = (token ?? env.IMPORT_TOKEN)?.trim();
  if (!secret) throw usageError(`give a token with IMPORT_TOKEN or --token: ${system.tokenHint}`);
  if (!/^[\x21-\x7e]+$/.test(secret)) throw usageError('the token contains characters that no token has');
  const from = new Date(Math.floor(Date.now() / 60_000) * 60_000);
  const until = new Date(from.getTime() + days * 86_400_000);
  const { headers, tokenHint } = system;
  const data = await system.download({ url, headers: headers(secret), tokenHint, showProgress }, { from, until });
  const loaded = system.parse(data);
  if (saveTo) await save(saveTo, data);
  return loaded;
}

function readChannels(text = 'email'): string[] {
  const channels = text.split(',').map(channel => channel.trim());
  if (channels.includes('')) throw usageError('--channels must be slugs or types such as email,sms');
  return channels;
}

/** The names of what exists stay as they are. */
async function findTarget(terminal: Terminal, org: string, project: string, application: string): Promise<Target> {
  const remote = remoteOf(terminal);
  const organization: OrganizationDocument = remote
    ? await remote.request('GET', `/api/o/${encodeURIComponent(org)}/configuration/`)
    : (await terminal.withDeps(deps => exportConfiguration(deps, [org]))).organizations[0]!;
  const storedProject = organization.projects?.find(({ slug }) => slug === project);
  const storedApplication = storedProject?.applications?.find(({ slug }) => slug === application);
  return {
    organization: { slug: organization.slug, name: organization.name },
    project: { slug: project, name: storedProject?.name ?? 'On call' },
    application: { slug: application, name: storedApplication?.name ?? 'Alerts' },
  };
}

function describeChecks(schedules: readonly ImportedSchedule[]): string {
  return schedules
    .map(({ entry, overrides, expected }) => {
      if (!expected) return `schedule ${entry.slug}: not compared`;
      const { from, until, shifts } = expected;
      const compiled = compileSchedule({ combine: 'cover', ...entry }, overrides);
      const differences = compareShifts(compiled, shifts, from, until);
      const span = `${Math.round((until - from) / 86_400_000)} days`;
      const head = `schedule ${entry.slug}: ${formatCount(differences.length)} differences from its ${formatCount(shifts.length)} shifts in ${span}`;
      const lines = differences.slice(0, maxDifferences).map(describeDifference);
      const more = differences.length - lines.length;
      return [head, ...lines, ...(more > 0 ? [`  … and ${formatCount(more)} more`] : [])].join('\n');
    })
    .join('\n');
}

function describeDifference({ from, until, source, imported }: Difference): string {
  const names = (users: string[]) => users.join(', ') || 'no one';
  const time = (at: number) => formatTime(new Date(at).toISOString());
  return printable(`  ${time(from)} to ${time(until)}: ${names(source)} there, ${names(imported)} here`);
}
