/**
 * Alerts that sources take in from 64 connections, as fast as they are answered, compared with plain triggers of the same service. Each
 * request has an alert that is not known yet, and opens an occurrence.
 */
import { sandbox } from './fan-out.ts';
import { compare, openLoad, type Subject, uniqueMark } from './load.ts';
import type { Row, Scenario } from './scenario.ts';
import { cpuMs, openStage, postgresCpuMs, type Stage } from './stage.ts';
import { countOccurrences, event, pathOf, requireStored, triggerJob } from './triggers.ts';

const labels = { alertname: 'DiskFull', severity: 'critical', instance: 'db-1:9100', job: 'node', cluster: 'berlin' };
const annotations = { summary: 'Disk is full', description: 'sda of db-1 is at 98 %' };

/** What each sender posts for one alert. */
const senders = {
  alertmanager: {
    title: 'Alertmanager',
    status: 200,
    path: (token: string) => `/in/${token}/`,
    body: () => ({
      ...{
        version: '4',
        groupKey: '{}:{alertname="DiskFull"}',
        truncatedAlerts: 0,
        status: 'firing',
        receiver: 'belfry',
      },
      ...{ groupLabels: { alertname: 'DiskFull' }, commonLabels: labels, commonAnnotations: annotations },
      externalURL: 'http://alertmanager.test:9093',
      alerts: [
        {
          ...{
            status: 'firing',
            labels,
            annotations,
            startsAt: '2026-11-18T10:00:00Z',
            endsAt: '0001-01-01T00:00:00Z',
          },
          ...{ generatorURL: 'http://prometheus.test:9090/graph?g0.expr=up', fingerprint: uniqueMark },
        },
      ],
    }),
  },
  pagerduty: {
    title: 'PagerDuty, version 2',
    status: 202,
    path: () => '/v2/enqueue',
    body: (token: string) => ({
      ...{ routing_key: token, event_action: 'trigger', dedup_key: uniqueMark, client: 'Alertmanager' },
      payload: {
        ...{ summary: annotations.summary, source: 'db-1', severity: 'critical', class: 'disk', component: 'sda' },
        custom_details: { ...labels, ...annotations },
      },
    }),
  },
} as const;

export const ingress: Scenario = {
  name: 'ingress',
  summary: 'alerts taken in by presets, one in each request from 64 connections, vs. plain triggers',
  async run({ quick }) {
    const load = openLoad();
    const stage = await openStage([sandbox], [event('order')]).catch(error => {
      load.close();
      throw error;
    });
    try {
      const api = await stage.start('api');
      const cpu = async () => ({ api: await cpuMs(api), database: await postgresCpuMs(stage.sql) });
      const body = JSON.stringify({ context: { id: uniqueMark, labels, annotations }, options: {} });
      const plain: Subject = { job: triggerJob(stage, [api.address], [pathOf('order')], [body]), cpu };
      const settings = quick ? { rounds: 2, seconds: 1, warmUp: 1_000 } : { rounds: 7, seconds: 2, warmUp: 10_000 };
      const rows: Row[] = [];
      let stored = 0;
      for (const [use, { title, status, path, body }] of Object.entries(senders)) {
        const token = await addSource(stage, api.address, use);
        const job = triggerJob(stage, [api.address], [path(token)], [JSON.stringify(body(token))]);
        // As autovacuum does within a minute.
        await load.run({ ...job, amount: quick ? 500 : 5_000 });
        await stage.sql.query('vacuum analyze');
        stored = await countOccurrences(stage.sql);
        const { measured, spread } = await compare(load, [{ job, status, cpu }, plain], settings);
        const [alerts, triggers] = measured;
        stored += alerts.created + triggers.created;
        await requireStored(stage.sql, stored);
        rows.push(
          {
            measure: `alerts of ${title}`,
            value: alerts.perSecond,
            unit: '/s',
            baseline: triggers.perSecond,
            limit: { of: 'ratio', min: 0.7 },
            note: `${spread}; as many occurrences as alerts`,
          },
          { measure: `${title}: refused alerts`, value: alerts.failed, unit: '', limit: { of: 'value', max: 0 } },
          { measure: `${title}: CPU time of the API`, value: alerts.cpu.api!, unit: 'µs', baseline: triggers.cpu.api! },
          {
            measure: `${title}: CPU time of PostgreSQL`,
            value: alerts.cpu.database!,
            unit: 'µs',
            baseline: triggers.cpu.database!,
          },
        );
      }
      return rows;
    } finally {
      load.close();
      await stage.close();
    }
  },
};

/** Creates a source and returns its token. */
async function addSource({ key }: Stage, address: string, use: string): Promise<string> {
  const answer = await fetch(`${address}/api/o/bench/p/shop/a/web/sources/`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ slug: use, name: use, use, routes: [{ event: 'order' }] }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  return ((await answer.json()) as { token: string }).token;
}
