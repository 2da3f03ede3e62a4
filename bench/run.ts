/**
 * Measures what Belfry promises in numbers, on the real program with a durable PostgreSQL of its own, beside a yardstick
 * in the same run. A whole run writes docs/performance.md, .json and its chart, and exits with 1 if a limit was missed; a
 * quick one only sees that everything works, as its times mean nothing.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { backlog } from './backlog.ts';
import { chart } from './chart.ts';
import { crowded } from './crowded.ts';
import { everyday } from './everyday.ts';
import { fanOut } from './fan-out.ts';
import { addToHistory, type Entry, type History, judgedRows, rounded } from './history.ts';
import { idle } from './idle.ts';
import { inbox } from './inbox.ts';
import { instead } from './instead.ts';
import { latency } from './latency.ts';
import { listing } from './listing.ts';
import { longHistory } from './long-history.ts';
import { mail } from './mail.ts';
import { writePage } from './page.ts';
import { pages } from './pages.ts';
import { preferences } from './preferences.ts';
import { retention } from './retention.ts';
import { scaleOut } from './scale-out.ts';
import type { Row, Scenario } from './scenario.ts';
import { closeStages, settingsOfDatabase } from './stage.ts';
import { terminalTable, wrap } from './terminal.ts';
import { traces } from './traces.ts';
import { triggers } from './triggers.ts';

// biome-ignore format: one on each line, so that two who add one do not meet
export const scenarios: Scenario[] = [
  everyday,
  longHistory,
  backlog,
  triggers,
  crowded,
  fanOut,
  preferences,
  mail,
  latency,
  scaleOut,
  listing,
  idle,
  inbox,
  traces,
  retention,
  instead,
  pages,
];

export const files = {
  page: new URL('../docs/performance.md', import.meta.url),
  history: new URL('../docs/performance.json', import.meta.url),
  chart: new URL('../docs/images/performance.svg', import.meta.url),
};

const width = Math.max(80, process.stdout.columns ?? 100);

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));

async function main(args: string[]): Promise<number> {
  let chosen: { quick: boolean; help: boolean; names: string[] };
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
  // A server that the shell knows nothing of would go on without its run.
  let stopped = false;
  process.once('SIGINT', () => {
    stopped = true;
    void closeStages().finally(() => process.exit(130));
  });
  const { quick, names } = chosen;
  const wanted = scenarios.filter(({ name }) => names.length === 0 || names.includes(name));
  const entries: Entry[] = [];
  const broken: string[] = [];
  for (const [i, scenario] of wanted.entries()) {
    console.log(wrap(`[${i + 1}/${wanted.length}] ${scenario.name}: ${scenario.summary}`, width).join('\n  '));
    try {
      const entry = await runOne(scenario, quick);
      entries.push(entry);
      console.log(`  done in ${entry.seconds} s`);
    } catch (error) {
      if (stopped) return 130;
      broken.push(scenario.name);
      console.error(`  broken: ${(error as Error).stack}`);
    }
  }
  const missed = report(entries, quick);
  if (!quick && entries.length > 0) await keep(entries);
  if (broken.length > 0) console.error(`Broken: ${broken.join(', ')}.`);
  return broken.length > 0 || (!quick && missed > 0) ? 1 : 0;
}

function readArguments(args: string[]): { quick: boolean; help: boolean; names: string[] } {
  const options = { quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;
  let parsed: { values: { quick?: boolean; help?: boolean }; positionals: string[] };
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Error(`${(error as Error).message.split('. ')[0]}: see npm run bench -- --help`);
  }
  const { values, positionals: names } = parsed;
  const unknown = names.filter(name => !scenarios.some(scenario => scenario.name === name));
  if (unknown.length > 0) throw new Error(`there is no scenario ${unknown.join(', ')}: see npm run bench -- --help`);
  return { quick: values.quick ?? false, help: values.help ?? false, names };
}

function helpText(): string {
  const longest = Math.max(...scenarios.map(({ name }) => name.length));
  const list = scenarios.map(({ name, summary }) => {
    const [first, ...more] = wrap(summary, width - longest - 6);
    return [`  ${name.padEnd(longest)}  ${first}`, ...more.map(line => `${' '.repeat(longest + 4)}${line}`)].join('\n');
  });
  return `Measures what Belfry promises in numbers, on this machine, beside a yardstick in the same run.

Usage: npm run bench -- [--quick] [SCENARIO…]

  --quick  small, to see that everything works: no time is judged and nothing is written;
           without it the results go into docs/performance.md

Scenarios, all of them unless some are named:
${list.join('\n')}

Example: npm run bench -- --quick ${scenarios[0]!.name} ${scenarios[1]!.name}`;
}

async function runOne({ name, run }: Scenario, quick: boolean): Promise<Entry> {
  const load = Number(loadavg()[0]!.toFixed(1));
  const began = performance.now();
  const rows = await run({ quick, log: words => console.log(`  ${words}`) });
  for (const { measure, value, yardstick = 1 } of rows) {
    if (!Number.isFinite(value) || !Number.isFinite(yardstick)) throw new Error(`${measure}: not a number`);
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

/** Every dependency is pinned, so what is written down is what runs. */
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

/** Tells how many limits were missed. */
function report(entries: Entry[], quick: boolean): number {
  const [first] = entries;
  if (!first) return 0;
  const tables = entries.map(entry => ({ scenario: entry.scenario, rows: judgedRows(entry) }));
  console.log(`\n${terminalTable(tables, { width, judged: !quick })}\n`);
  for (const { rows } of tables) {
    for (const { measure, note } of rows) if (note) console.log(wrap(`${measure}: ${note}`, width).join('\n  '));
  }
  const words = (named: Record<string, string>) => Object.entries(named).map(pair => pair.join(' '));
  const place = [first.machine, `load ${first.load}`, ...words(first.versions), ...words(first.settings)];
  console.log(wrap(place.join(', '), width).join('\n  '));
  if (quick) console.log('Quick: the times above mean nothing and were not judged.');
  return tables.flatMap(({ rows }) => rows).filter(({ pass }) => !pass).length;
}

/** Written after all scenarios, so that a run that was stopped leaves the page as it was. */
async function keep(entries: Entry[]): Promise<void> {
  const before = JSON.parse(await readFile(files.history, 'utf8')) as History;
  const order = scenarios.map(({ name }) => name);
  const history = addToHistory(before, entries, order);
  await writeFile(files.history, `${JSON.stringify(history, null, 2)}\n`);
  await writeFile(files.chart, chart(history));
  await writeFile(files.page, writePage(await readFile(files.page, 'utf8'), history));
  console.log('Written: docs/performance.md, docs/performance.json, docs/images/performance.svg');
}
