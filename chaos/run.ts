/**
 * The fault tests: break the real service on purpose, and compare what it accepted with what arrived.
 *   npm run chaos -- [--quick] [scenario…]
 * Prints a table, writes chaos/results.json, and exits with 1 if a guarantee was broken.
 */
import { writeFile } from 'node:fs/promises';
import type { Ledger } from './ledger.ts';
import { type Scenario, Skipped } from './scenario.ts';
import { acknowledgedMeansStop } from './scenarios/acknowledged-means-stop.ts';
import { acknowledgementsExpire } from './scenarios/acknowledgements-expire.ts';
import { feedbackKilled, updatesKilled } from './scenarios/after-sending.ts';
import { busyMachine } from './scenarios/busy-machine.ts';
import { canaryKilled } from './scenarios/canary-killed.ts';
import { clockSet } from './scenarios/clock-set.ts';
import { connectionsCut } from './scenarios/connections-cut.ts';
import { databaseRestarted } from './scenarios/database-restarted.ts';
import {
  connectionStalls,
  databaseReadOnly,
  databaseSilent,
  statementsCancelled,
} from './scenarios/database-unwell.ts';
import { answeringKilled, decidedKilled, storedKilled } from './scenarios/deciding-killed.ts';
import { digestKilled } from './scenarios/digest-killed.ts';
import { diskFull } from './scenarios/disk-full.ts';
import { hangingTenants } from './scenarios/hanging-tenants.ts';
import { heldFailover } from './scenarios/held-failover.ts';
import { heldKilled } from './scenarios/held-killed.ts';
import { inboxStream } from './scenarios/inbox-stream.ts';
import { fanOutList, fanOutNamed, fanOutOrganizations, fanOutScheduled } from './scenarios/large-fan-outs.ts';
import { greylisting, rcptRefused, tlsErrors } from './scenarios/mail-server.ts';
import { organizationMoved } from './scenarios/organization-moved.ts';
import { outbox } from './scenarios/outbox.ts';
import { patroniLeaderKilled, patroniSwitchover } from './scenarios/patroni.ts';
import { personalKilled } from './scenarios/personal-killed.ts';
import { powerCut } from './scenarios/power-cut.ts';
import { primaryKilled, primaryReadOnly, primarySilent, standbyBehind } from './scenarios/primary-lost.ts';
import { failover, provider5xx, providerLimits } from './scenarios/provider-refuses.ts';
import { providerDrops, providerHangs } from './scenarios/provider-silent.ts';
import { rateHeld } from './scenarios/rate-held.ts';
import { rollingUpgrade } from './scenarios/rolling-upgrade.ts';
import { slowReceiver } from './scenarios/slow-receiver.ts';
import { slowStop } from './scenarios/slow-stop.ts';
import { descriptorsTaken, fewDescriptors, smallMemory } from './scenarios/small-machine.ts';
import {
  cancelMeansStop,
  deletedMeansStop,
  fanOutCancelled,
  fanOutEventDeleted,
  fanOutEventInactive,
  optOutMeansStop,
  pauseMeansStop,
} from './scenarios/stops.ts';
import { storm } from './scenarios/storm.ts';
import { stepsKilled, webhooksKilled } from './scenarios/work-killed.ts';
import { serviceKilled, workerKilled } from './scenarios/worker-killed.ts';
import { workerCutOff, workerFrozen, workerVanished, workerWoken } from './scenarios/worker-returns.ts';
import { wrongKey } from './scenarios/wrong-key.ts';

const scenarios: Record<string, Scenario> = {
  'worker-killed': workerKilled,
  'service-killed': serviceKilled,
  'decided-killed': decidedKilled,
  'stored-killed': storedKilled,
  'answering-killed': answeringKilled,
  'worker-frozen': workerFrozen,
  'worker-woken': workerWoken,
  'worker-vanished': workerVanished,
  'worker-cut-off': workerCutOff,
  'clock-set': clockSet,
  'power-cut': powerCut,
  'database-restarted': databaseRestarted,
  'connections-cut': connectionsCut,
  'database-silent': databaseSilent,
  'connection-stalls': connectionStalls,
  'database-read-only': databaseReadOnly,
  'statements-cancelled': statementsCancelled,
  'primary-killed': primaryKilled,
  'primary-silent': primarySilent,
  'primary-read-only': primaryReadOnly,
  'standby-behind': standbyBehind,
  'patroni-switchover': patroniSwitchover,
  'patroni-leader-killed': patroniLeaderKilled,
  'slow-stop': slowStop,
  'wrong-key': wrongKey,
  'busy-machine': busyMachine,
  'hanging-tenants': hangingTenants,
  'cancel-means-stop': cancelMeansStop,
  'pause-means-stop': pauseMeansStop,
  'deleted-means-stop': deletedMeansStop,
  'opt-out-means-stop': optOutMeansStop,
  'fan-out-cancelled': fanOutCancelled,
  'fan-out-event-deleted': fanOutEventDeleted,
  'fan-out-event-inactive': fanOutEventInactive,
  'provider-drops': providerDrops,
  'provider-hangs': providerHangs,
  'provider-limits': providerLimits,
  'provider-5xx': provider5xx,
  failover,
  'rcpt-refused': rcptRefused,
  greylisting,
  'tls-errors': tlsErrors,
  'slow-receiver': slowReceiver,
  'fan-out-named': fanOutNamed,
  'fan-out-list': fanOutList,
  'fan-out-organizations': fanOutOrganizations,
  'fan-out-scheduled': fanOutScheduled,
  'held-killed': heldKilled,
  'held-failover': heldFailover,
  'canary-killed': canaryKilled,
  'rate-held': rateHeld,
  'steps-killed': stepsKilled,
  'webhooks-killed': webhooksKilled,
  'updates-killed': updatesKilled,
  'feedback-killed': feedbackKilled,
  'disk-full': diskFull,
  'small-memory': smallMemory,
  'few-descriptors': fewDescriptors,
  'descriptors-taken': descriptorsTaken,
  'digest-killed': digestKilled,
  'inbox-stream': inboxStream,
  outbox,
  'acknowledged-means-stop': acknowledgedMeansStop,
  'acknowledgements-expire': acknowledgementsExpire,
  'personal-killed': personalKilled,
  storm,
  'organization-moved': organizationMoved,
  'rolling-upgrade': rollingUpgrade,
};

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(helpText());
  process.exit(0);
}
const scale = args.includes('--quick') ? 0.2 : 1;
const names = args.filter(name => name !== '--quick');
const unknown = names.filter(name => !scenarios[name]);
if (unknown.length > 0) {
  console.error(`chaos: unknown scenario ${unknown.join(', ')}: see npm run chaos -- --help`);
  process.exit(2);
}

const ledgers: Ledger[] = [];
const chosen = Object.keys(scenarios).filter(name => scale === 1 || !scenarios[name]!.isSlow);
for (const name of names.length > 0 ? names : chosen) {
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
  for (const problem of ledger.broken) console.log(`  ${problem}`);
}

function helpText(): string {
  const longest = Math.max(...Object.keys(scenarios).map(name => name.length));
  const list = Object.entries(scenarios).map(([name, { title }]) => `  ${name.padEnd(longest)}  ${title}`);
  return `Breaks the real service on purpose, and checks that no accepted trigger is lost.

Usage: npm run chaos -- [--quick] [SCENARIO…]

  --quick  runs smaller versions of the scenarios

Scenarios (default: all):
${list.join('\n')}

Example: npm run chaos -- --quick worker-killed`;
}

function failed(scenario: string, error: Error): Ledger {
  const none = {
    accepted: 0,
    expected: 0,
    delivered: 0,
    lost: 0,
    duplicates: 0,
    duplicates_explained: 0,
    resumed_s: 0,
  };
  return { scenario, ...none, recovered_s: 0, broken: [error.stack ?? error.message], pass: false };
}

console.table(ledgers.map(({ broken, pass, ...numbers }) => ({ ...numbers, verdict: pass ? 'pass' : 'FAIL' })));
const file = new URL('./results.json', import.meta.url);
await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), scale, ledgers }, null, 2)}\n`);
process.exit(ledgers.every(({ pass }) => pass) ? 0 : 1);
