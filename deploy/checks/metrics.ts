/**
 * Dashboard and alerts: no panel, rule or autoscaler names a metric that a running Belfry does not tell. With promtool on
 * the machine, it reads every expression too.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { hasProgram, root, run, startServer, temporaryFolder } from './support.ts';

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
}

interface Rules {
  groups: { rules: { alert: string; expr: string }[] }[];
}

interface Named {
  where: string;
  expr: string;
}

export async function checkMetrics(): Promise<string> {
  const { panels } = JSON.parse(await readFile(path.join(root, 'deploy/grafana/dashboard.json'), 'utf8')) as Dashboard;
  const alerts = path.join(root, 'deploy/prometheus/alerts.yaml');
  const rules = (parse(await readFile(alerts, 'utf8')) as Rules).groups.flatMap(group => group.rules);
  const shown: Named[] = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `panel "${title}"`, expr })),
  );
  const named: Named[] = [
    ...shown,
    ...rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })),
    { where: 'the autoscaler', expr: await autoscalerText() },
  ];
  const known = await listMetrics();
  for (const { where, expr } of named) {
    for (const [name] of expr.matchAll(/\b(belfry|nodejs|process)_[a-z\d_]+/g)) {
      if (!known.has(name)) throw new Error(`${where} names ${name}, which Belfry does not tell`);
    }
  }
  const told = `${named.length} expressions name metrics that Belfry tells`;
  if (!hasProgram('promtool')) return `${told}; promtool is not installed to read them`;
  await run('promtool', ['check', 'rules', alerts]);
  // A panel is no rule, but what it asks for can be one.
  const asRules = shown.map(({ expr }, i) => ({
    record: `panel:${i}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  const file = path.join(temporaryFolder('promtool'), 'panels.json');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }));
  await run('promtool', ['check', 'rules', file]);
  return `${told}; promtool reads them`;
}

async function autoscalerText(): Promise<string> {
  const chart = path.join(root, 'deploy/helm/belfry');
  const template = await readFile(path.join(chart, 'templates/autoscaling.yaml'), 'utf8');
  const { worker } = parse(await readFile(path.join(chart, 'values.yaml'), 'utf8')) as {
    worker: { autoscaling: { metric: string } };
  };
  return `${template} ${worker.autoscaling.metric}`;
}

/** Those of a histogram under the three names that are asked for. */
async function listMetrics(): Promise<Set<string>> {
  const home = temporaryFolder('metrics');
  const program = [process.execPath, path.join(root, 'bin/belfry.js'), 'serve'];
  const server = await startServer(program, home, { BELFRY_DATA_DIR: home });
  try {
    const text = await (await fetch(`${server.address}/metrics`)).text();
    const all = new Set<string>();
    for (const [, name = '', type] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
      all.add(name);
      if (type === 'histogram') for (const end of ['bucket', 'sum', 'count']) all.add(`${name}_${end}`);
    }
    return all;
  } finally {
    await server.stop();
  }
}
