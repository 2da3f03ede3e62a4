/**
 * The fault suite: breaks the real service on purpose, and holds what it accepted against what arrived.
 *   npm run chaos -- [--quick] [scenario…]
 * Ends with a table, writes chaos/results.json, and exits with 1 if a promise was broken.
 */
import { writeFile } from 'node:fs/promises';
import type { Ledger } from './ledger.ts';
import { type Scenario, Skipped } from './scenario.ts';
import { acknowledgedMeansStop } from './scenarios/acknowledged-means-stop.ts';
import { connectionsCut } from './scenarios/connections-cut.ts';
import { databaseRestarted } from './scenarios/database-restarted.ts';
import { digestKilled } from './scenarios/digest-killed.ts';
import { inboxStream } from './scenarios/inbox-stream.ts';
import { outbox } from './scenarios/outbox.ts';
import { powerCut } from './scenarios/power-cut.ts';
import { providerDrops, providerHangs } from './scenarios/provider-silent.ts';
import { rollingUpgrade } from './scenarios/rolling-upgrade.ts';
import { workerKilled } from './scenarios/worker-killed.ts';

const scenarios: Record<string, Scenario> = {
  'worker-killed': workerKilled,
  'power-cut': powerCut,
  'database-restarted': databaseRestarted,
  'connections-cut': connectionsCut,
  'provider-drops': providerDrops,
  'provider-hangs': providerHangs,
  'digest-killed': digestKilled,
  'inbox-stream': inboxStream,
  outbox,
  'acknowledged-means-stop': acknowledgedMeansStop,
  'rolling-upgrade': rollingUpgrade,
};

const given = process.argv.slice(2);
const scale = given.includes('--quick') ? 0.2 : 1;
const names = given.filter(name => name !== '--quick');
const unknown = names.filter(name => !scenarios[name]);
if (unknown.length > 0) {
  console.error(`chaos: there is no scenario ${unknown.join(', ')} (there are ${Object.keys(scenarios).join(', ')})`);
  process.exit(2);
}

const ledgers: Ledger[] = [];
for (const name of names.length > 0 ? names : Object.keys(scenarios)) {
  const { title, run } = scenarios[name]!;
  console.log(`${name}: ${title}`);
  const began = Date.now();
  const ledger = await run(name, scale).catch(error => {
    if (!(error instanceof Skipped)) return failed(name, error);
    console.log(`  skipped: ${error.message}`);
    return undefined;
  });
  if (!ledger) continue;
  ledgers.push(ledger);
  console.log(`  ${ledger.pass ? 'passed' : 'FAILED'} in ${Math.round((Date.now() - began) / 1_000)} s`);
}

function failed(scenario: string, error: Error): Ledger {
  const none = { accepted: 0, expected: 0, delivered: 0, lost: 0, twins: 0, twins_allowed: 0, resumed_s: 0 };
  return { scenario, ...none, recovered_s: 0, broken: [error.stack ?? error.message], pass: false };
}

console.table(ledgers.map(({ broken, pass, ...numbers }) => ({ ...numbers, verdict: pass ? 'pass' : 'FAIL' })));
for (const { scenario, broken } of ledgers) for (const words of broken) console.log(`${scenario}: ${words}`);
const file = new URL('./results.json', import.meta.url);
await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), scale, ledgers }, null, 2)}\n`);
process.exit(ledgers.every(({ pass }) => pass) ? 0 : 1);
