/**
 * Measures what Belfry promises in numbers, on the real program with a durable PostgreSQL of its own.
 *   node bench/run.ts [--quick] [scenario…]
 * Ends with a table, writes bench/results/<time>.json, and exits with 1 if a limit was not kept.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { crowded } from './crowded.ts';
import { fanOut } from './fan-out.ts';
import { instead } from './instead.ts';
import { latency } from './latency.ts';
import { mail } from './mail.ts';
import { pages } from './pages.ts';
import { scaleOut } from './scale-out.ts';
import { type Judged, judge, type Scenario } from './scenario.ts';
import { settingsOfDatabase } from './stage.ts';
import { triggers } from './triggers.ts';

const scenarios: Scenario[] = [latency, triggers, crowded, fanOut, mail, instead, scaleOut, pages];

const given = process.argv.slice(2);
const quick = given.includes('--quick');
const names = given.filter(name => name !== '--quick');
const unknown = names.filter(name => !scenarios.some(scenario => scenario.name === name));
if (unknown.length > 0) {
  const known = scenarios.map(({ name, summary }) => `  ${name}: ${summary}`).join('\n');
  console.error(`bench: there is no scenario ${unknown.join(', ')}. There are\n${known}`);
  process.exit(2);
}

const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
const [cpu] = cpus();
const about = {
  at: new Date().toISOString(),
  machine: `${cpus().length} × ${cpu?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}`,
  load: loadavg()[0]!.toFixed(2),
  versions: { belfry: version, node: process.version },
  quick,
};
const results: (Judged & { scenario: string })[] = [];
const broken: string[] = [];
let database: Record<string, string> = {};
for (const { name, summary, run } of scenarios) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`${name}: ${summary}`);
  try {
    for (const row of await run({ quick })) results.push({ scenario: name, ...judge(row) });
    database = settingsOfDatabase();
  } catch (error) {
    broken.push(`${name}: ${(error as Error).stack}`);
  }
}

console.log(`\n${about.machine}; load ${about.load}; Belfry ${version}, Node.js ${process.version}`);
const told = Object.entries(database).map(([name, value]) => `${name} ${value}`);
console.log(`${told.join(', ')}${quick ? '; quick' : ''}\n`);
console.table(
  results.map(({ scenario, measure, value, unit, yardstick, ratio, limit, pass }) => ({
    scenario,
    measure,
    value: `${round(value)} ${unit}`,
    yardstick: yardstick === undefined ? '' : round(yardstick),
    ratio: ratio === undefined ? '' : ratio.toFixed(2),
    limit: limit ? describeLimit(limit) : '',
    verdict: limit ? (pass ? 'pass' : 'FAIL') : '',
  })),
);
for (const { measure, note } of results) if (note) console.log(`${measure}: ${note}`);
for (const words of broken) console.error(words);

const folder = new URL('./results/', import.meta.url);
await mkdir(folder, { recursive: true });
const file = new URL(`${about.at.replaceAll(':', '-')}.json`, folder);
await writeFile(file, `${JSON.stringify({ ...about, database, results, broken }, null, 2)}\n`);
process.exit(broken.length === 0 && results.every(({ pass }) => pass) ? 0 : 1);

function describeLimit({ of, least, most }: NonNullable<Judged['limit']>): string {
  const bound = [least === undefined ? '' : `≥ ${least}`, most === undefined ? '' : `≤ ${most}`].filter(Boolean);
  return `${of === 'ratio' ? 'ratio ' : ''}${bound.join(', ')}`;
}

function round(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: value < 1_000 ? 3 : 4 });
}
