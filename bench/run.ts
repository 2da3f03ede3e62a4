/**
 * Runs the benchmarks: the real program on its own durable PostgreSQL, compared with a baseline in the same run. A full run
 * updates docs/performance.md, .json and the chart, and exits with 1 if a limit was missed. A quick run only checks that
 * everything works, because its times are meaningless.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { attachments } from './attachments.ts';
import { backlog } from './backlog.ts';
import { chart } from './chart.ts';
import { crowded } from './crowded.ts';
import { everyday } from './everyday.ts';
import { fairness } from './fairness.ts';
import { fanOut } from './fan-out.ts';
import { feedback } from './feedback.ts';
import { guards } from './guards.ts';
import { addToHistory, type Entry, type History, judgedRows, rounded } from './history.ts';
import { idle } from './idle.ts';
import { inbox } from './inbox.ts';
import { ingress } from './ingress.ts';
import { instead } from './instead.ts';
import { latency } from './latency.ts';
import { ledger } from './ledger.ts';
import { listImport } from './list-import.ts';
import { listing } from './listing.ts';
import { longHistory } from './long-history.ts';
import { mail } from './mail.ts';
import { onCall } from './on-call.ts';
import { writePage } from './page.ts';
import { pages } from './pages.ts';
import { preferences } from './preferences.ts';
import { push } from './push.ts';
import { retention } from './retention.ts';
import { retries } from './retries.ts';
import { scaleOut } from './scale-out.ts';
import type { Options, Row, Scenario } from './scenario.ts';
import { silences } from './silences.ts';
import { writeSizing } from './sizing.ts';
import { closeStages, settingsOfDatabase } from './stage.ts';
import { terminalTable, wrap } from './terminal.ts';
import { traces } from './traces.ts';
import { triggers } from './triggers.ts';

// biome-ignore format: one scenario per line avoids merge conflicts
export const scenarios: Scenario[] = [
  everyday,
  longHistory,
  backlog,
  triggers,
  ingress,
  fairness,
  crowded,
  guards,
  fanOut,
  preferences,
  silences,
  mail,
  attachments,
  push,
  latency,
  ledger,
  scaleOut,
  listing,
  listImport,
  idle,
  retries,
  inbox,
  traces,
  retention,
  feedback,
  instead,
  pages,
  onCall,
];

export const files = {
  page: new URL('../docs/performance.md', import.meta.url),
  sizing: new URL('../docs/guides/sizing.md', import.meta.url),
  history: new URL('../docs/performance.json', import.meta.url),
  chart: new URL('../docs/images/performance.svg', import.meta.url),
};

const width = Math.max(80, process.stdout.columns ?? 100);

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let chosen: Arguments;
  try {
    chosen = readArguments(args);
  } catch (error) {
    console.error(`bench: ${(error as Error).message}`);
    return 2;
  }
  if (chosen.help) {
    console.log(helpText());
    return 0;
  }
  // Servers run in their own process groups and would outlive the run.
  let stopped = false;
  process.once('SIGINT', () => {
    stopped = true;
    void closeStages().finally(() => process.exit(130));
  });
  const { quick, streams, names } = chosen;
  const selected = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const entries: Entry[] = [];
  const failed: string[] = [];
  for (const [i, scenario] of selected.entries()) {
    console.log(wrap(`[${i + 1}/${selected.length}] ${scenario.name}: ${scenario.summary}`, width).join('\n  '));
    try {
      const entry = await runOne(scenario, { quick, streams });
      entries.push(entry);
      console.log(`  done in ${entry.seconds} s`);
    } catch (error) {
      if (stopped) return 130;
      failed.push(scenario.name);
      console.error(`  failed: ${(error as Error).stack}`);
    }
  }
  const missed = report(entries, quick);
  // Results of another size must not be compared on the page.
  if (!quick && streams === undefined && entries.length > 0) await save(entries);
  if (failed.length > 0) console.error(`Failed: ${failed.join(', ')}.`);
  return failed.length > 0 || (!quick && missed > 0) ? 1 : 0;
}

interface Arguments extends Omit<Options, 'log'> {
  help: boolean;
  names: string[];
}

function readArguments(args: string[]): Arguments {
  const options = {
    quick: { type: 'boolean' },
    streams: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  let parsed: { values: { quick?: boolean; streams?: string; help?: boolean }; positionals: string[] };
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Error(`${(error as Error).message.split('. ')[0]}: see npm run bench -- --help`);
  }
  const { values, positionals: names } = parsed;
  const unknown = names.filter(name => !scenarios.some(scenario => scenario.name === name));
  if (unknown.length > 0) throw new Error(`unknown scenario ${unknown.join(', ')}: see npm run bench -- --help`);
  if (values.streams !== undefined && !/^[1-9]\d{0,5}$/.test(values.streams)) {
    throw new Error('--streams takes a number of streams: see npm run bench -- --help');
  }
  const streams = values.streams === undefined ? undefined : Number(values.streams);
  return { quick: values.quick ?? false, streams, help: values.help ?? false, names };
}

function helpText(): string {
  const longest = Math.max(...scenarios.map(({ name }) => name.length));
  const list = scenarios.map(({ name, summary }) => {
    const [first, ...more] = wrap(summary, width - longest - 6);
    return [`  ${name.padEnd(longest)}  ${first}`, ...more.map(line => `${' '.repeat(longest + 4)}${line}`)].join('\n');
  });
  return `Measures Belfry on this machine, compared with a baseline in the same run.

Usage: npm run bench -- [--quick] [--streams N] [SCENARIO…]

  --quick  runs small versions that only check that everything works: limits are not checked and
           nothing is written; without it, the results are written to docs/performance.md
  --streams N
           inbox only: opens N streams in as many processes as they need, fills one process up and
           closes all; nothing is written

Scenarios (default: all):
${list.join('\n')}

Example: npm run bench -- --quick ${scenarios[0]!.name} ${scenarios[1]!.name}`;
}

async function runOne({ name, run }: Scenario, options: Omit<Options, 'log'>): Promise<Entry> {
  const load = Number(loadavg()[0]!.toFixed(1));
  const began = performance.now();
  const rows = await run({ ...options, log: text => console.log(`  ${text}`) });
  for (const { measure, value, baseline = 1 } of rows) {
    if (!Number.isFinite(value) || !Number.isFinite(baseline)) throw new Error(`${measure}: not a number`);
  }
  const { server_version = '', ...settings } = settingsOfDatabase();
  return {
    scenario: name,
    at: new Date().toISOString(),
    seconds: Math.round((performance.now() - began) / 1_000),
    load,
    machine: describeMachine(),
    versions: { ...(await readVersions()), PostgreSQL: server_version },
    settings,
    rows: rows.map(rounded) satisfies Row[],
  };
}

function describeMachine(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  return `${cpus().length} × ${model}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`;
}

/** Reads versions from package.json, where every dependency is pinned. */
async function readVersions(): Promise<Record<string, string>> {
  const { version, dependencies, devDependencies } = JSON.parse(
    await readFile(new URL('../package.json', import.meta.url), 'utf8'),
  );
  const { fastify, pg, undici } = dependencies;
  return {
    Belfry: version,
    'Node.js': process.versions.node,
    Fastify: fastify,
    pg,
    undici,
    Express: devDependencies.express,
    'pg-boss': devDependencies['pg-boss'],
    'graphile-worker': devDependencies['graphile-worker'],
  };
}

/** Prints the results and returns how many limits were missed. */
function report(entries: Entry[], quick: boolean): number {
  const [first] = entries;
  if (!first) return 0;
  const tables = entries.map(entry => ({ scenario: entry.scenario, rows: judgedRows(entry) }));
  console.log(`\n${terminalTable(tables, { width, judged: !quick })}\n`);
  for (const { rows } of tables) {
    for (const { measure, note } of rows) if (note) console.log(wrap(`${measure}: ${note}`, width).join('\n  '));
  }
  const pairs = (named: Record<string, string>) => Object.entries(named).map(pair => pair.join(' '));
  const environment = [first.machine, `load ${first.load}`, ...pairs(first.versions), ...pairs(first.settings)];
  console.log(wrap(environment.join(', '), width).join('\n  '));
  if (quick) console.log('Quick run: the times above are meaningless and were not compared with the limits.');
  return tables.flatMap(({ rows }) => rows).filter(({ pass }) => !pass).length;
}

/** Writes the results after all scenarios, so that an interrupted run leaves the page unchanged. */
async function save(entries: Entry[]): Promise<void> {
  const before = JSON.parse(await readFile(files.history, 'utf8')) as History;
  const order = scenarios.map(({ name }) => name);
  const history = addToHistory(before, entries, order);
  await writeFile(files.history, `${JSON.stringify(history, null, 2)}\n`);
  await writeFile(files.chart, chart(history));
  await writeFile(files.page, writePage(await readFile(files.page, 'utf8'), history));
  await writeFile(files.sizing, writeSizing(await readFile(files.sizing, 'utf8'), history));
  console.log('Updated docs/performance.md, docs/performance.json, docs/images/performance.svg, docs/guides/sizing.md');
}
