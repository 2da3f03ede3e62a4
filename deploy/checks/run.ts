/** Runs the checks one after the other, prints each result, and exits with 1 if one failed. */
import { checkAlertClients } from './alert-clients.ts';
import { checkAlertmanager } from './alertmanager.ts';
import { checkCells } from './cells.ts';
import { checkChart } from './chart.ts';
import { checkDatabases } from './databases.ts';
import { checkDkim } from './dkim.ts';
import { checkCompose, checkProxies, checkSystemd } from './host.ts';
import { checkImage } from './image.ts';
import { checkMailServers } from './mail-servers.ts';
import { checkMetrics } from './metrics.ts';
import { checkNext } from './next.ts';
import { checkOnCall } from './on-call.ts';
import { checkPackage } from './package.ts';
import { Skipped } from './support.ts';

/** Each check returns a one-line summary. */
const checks: Record<string, () => Promise<string>> = {
  image: checkImage,
  package: checkPackage,
  next: checkNext,
  chart: checkChart,
  compose: checkCompose,
  systemd: checkSystemd,
  proxies: checkProxies,
  cells: checkCells,
  metrics: checkMetrics,
  databases: checkDatabases,
  mail: checkMailServers,
  dkim: checkDkim,
  'on-call': checkOnCall,
  alertmanager: checkAlertmanager,
  'alert-clients': checkAlertClients,
};

const selected = process.argv.slice(2);
const unknown = selected.filter(name => !(name in checks));
if (unknown.length > 0) {
  console.error(`Unknown check ${unknown.join(', ')}. Available: ${Object.keys(checks).join(', ')}.`);
  process.exit(2);
}
for (const name of selected.length > 0 ? selected : Object.keys(checks)) {
  const began = performance.now();
  const report = (verdict: string, text: string) =>
    console.log(`${verdict.padEnd(8)}${name.padEnd(14)}${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`);
  try {
    report('ok', await checks[name]!());
  } catch (error) {
    if (error instanceof Skipped) report('skipped', error.message);
    else {
      report('failed', error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
  }
}
