/** Runs the checks one after the other, tells of each, and ends with 1 if one failed. */
import { checkChart } from './chart.ts';
import { checkDatabases } from './databases.ts';
import { checkCompose, checkProxies, checkSystemd } from './host.ts';
import { checkImage } from './image.ts';
import { checkMetrics } from './metrics.ts';
import { checkPackage } from './package.ts';
import { Skipped } from './support.ts';

/** Each returns what it saw, in a line. */
const checks: Record<string, () => Promise<string>> = {
  image: checkImage,
  package: checkPackage,
  chart: checkChart,
  compose: checkCompose,
  systemd: checkSystemd,
  proxies: checkProxies,
  metrics: checkMetrics,
  databases: checkDatabases,
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter(name => !(name in checks));
if (unknown.length > 0) {
  console.error(`There is no check ${unknown.join(', ')}. There are: ${Object.keys(checks).join(', ')}.`);
  process.exit(2);
}
for (const name of wanted.length > 0 ? wanted : Object.keys(checks)) {
  const began = performance.now();
  const tell = (verdict: string, text: string) =>
    console.log(`${verdict.padEnd(8)}${name.padEnd(10)}${((performance.now() - began) / 1000).toFixed(1)} s  ${text}`);
  try {
    tell('ok', await checks[name]!());
  } catch (error) {
    if (error instanceof Skipped) tell('skipped', error.message);
    else {
      tell('failed', error instanceof Error ? error.message : String(error));
      process.exitCode = 1;
    }
  }
}
