/**
 * Checks dashboard and alerts: every metric in a panel, rule or autoscaler must exist in a running Belfry. If promtool is installed, it
 * also validates every expression.
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

interface Expression {
  where: string;
  expr: string;
}

export async function checkMetrics(): Promise<string> {
  const { panels } = JSON.parse(await readFile(path.join(root, 'deploy/grafana/dashboard.json'), 'utf8')) as Dashboard;
  const alerts = path.join(root, 'deploy/prometheus/alerts.yaml');
  const rules = (parse(await readFile(alerts, 'utf8')) as Rules).groups.flatMap(group => group.rules);
  const shown: Expression[] = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ where: `panel "${title}"`, expr })),
  );
  const expressions: Expression[] = [
    ...shown,
    ...rules.map(({ alert, expr }) => ({ where: `alert ${alert}`, expr })),
    { where: 'the autoscaler', expr: await autoscalerText() },
  ];
  const metrics = await listMetrics();
  for (const { where, expr } of expressions) {
    for (const [name] of expr.matchAll(/\b(belfry|nodejs|process)_[a-z\d_]+/g)) {
      if (!metrics.has(name)) throw new Error(`${where} uses ${name}, which Belfry does not report`);
    }
  }
  const summary = `${expressions.length} expressions use existing metrics`;
  if (!hasProgram('promtool')) return `${summary}; promtool is not installed to validate them`;
  await run('promtool', ['check', 'rules', alerts]);
  // Wraps the panels' expressions in recording rules, which promtool can check.
  const asRules = shown.map(({ expr }, i) => ({
    record: `panel:${i}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  const file = path.join(temporaryFolder('promtool'), 'panels.json');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }));
  await run('promtool', ['check', 'rules', file]);
  return `${summary}; promtool accepts them`;
}

async function autoscalerText(): Promise<string> {
  const chart = path.join(root, 'deploy/helm/belfry');
  const template = await readFile(path.join(chart, 'templates/autoscaling.yaml'), 'utf8');
  const { worker } = parse(await readFile(path.join(chart, 'values.yaml'), 'utf8')) as {
    worker: { autoscaling: { metric: string } };
  };
  return `${template} ${worker.autoscaling.metric}`;
}

/** Lists the metrics of a running Belfry, histograms with their three series names. */
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
