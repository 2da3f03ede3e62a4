/**
 * The cost of deciding whether silences hold an alert: the same alerts in an organization without silences and in one with 200 that
 * recur every day, in alternation. None of them applies, so all alerts are sent in both.
 */
import { lowestUuidAt } from '../src/core/ids.ts';
import { sandbox } from './fan-out.ts';
import { alternate, type Load, openLoad, uniqueMark } from './load.ts';
import { quantile, type Scenario } from './scenario.ts';
import { cpuMs, openStage, type Stage, until } from './stage.ts';
import { event, triggerJob } from './triggers.ts';

const count = 200;
const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'UTC'];
const labels = { alertname: 'DiskFull', severity: 'critical', instance: 'db-1:9100', job: 'node', cluster: 'berlin' };

export const silences: Scenario = {
  name: 'silences',
  summary: `alerts that are sent, with ${count} active silences that recur every day vs. with none`,
  async run({ quick }) {
    const load = openLoad();
    const stage = await openStage([sandbox], [event('order')]).catch(error => {
      load.close();
      throw error;
    });
    try {
      const silenced = { slug: 'silenced', key: await stage.addOrganization('silenced') };
      const organizations = [silenced, { slug: 'bench', key: stage.key }];
      const api = await stage.start('api');
      for (let i = 0; i < count; i++) await addSilence(api.address, silenced, i);
      const worker = await stage.start('worker');
      const send = (size: number) => (organization: Organization) => async () => {
        const before = await cpuMs(worker);
        const perSecond = await sendAlerts(stage, load, api.address, organization, size);
        return { perSecond, cpu: (((await cpuMs(worker)) - before) * 1_000) / size };
      };
      await alternate(organizations.map(send(quick ? 200 : 5_000)), 1);
      const rounds = quick ? 1 : 15;
      const [held, free] = await alternate(organizations.map(send(quick ? 500 : 10_000)), rounds);
      const ratios = held!.map(({ cpu }, round) => cpu / free![round]!.cpu);
      const [low, high] = [0.25, 0.75].map(part => quantile(ratios, part).toFixed(3));
      const median = (results: typeof held, name: 'cpu' | 'perSecond') =>
        quantile(
          results!.map(one => one[name]),
          0.5,
        );
      return [
        {
          measure: `cost of an alert with ${count} recurring silences`,
          value: quantile(ratios, 0.5),
          unit: '×',
          limit: { of: 'value', max: 1.05 },
          note: `CPU time of the worker, from the decision to the outcome; median of ${rounds} alternating rounds, half of them between ${low} and ${high}`,
        },
        {
          measure: 'CPU time of the worker per alert',
          value: median(held, 'cpu'),
          unit: 'µs',
          baseline: median(free, 'cpu'),
        },
        {
          measure: 'alerts sent',
          value: median(held, 'perSecond'),
          unit: '/s',
          baseline: median(free, 'perSecond'),
        },
      ];
    } finally {
      load.close();
      await stage.close();
    }
  },
};

interface Organization {
  slug: string;
  key: string;
}

/**
 * Most name a value of another alert, as a silence made from an alert does. A fifth have patterns, which are compared with every
 * alert, and a tenth match it, at other hours.
 */
async function addSilence(address: string, { slug, key }: Organization, i: number): Promise<void> {
  const timezone = zones[i % zones.length]!;
  const matchers =
    i % 10 === 0
      ? [{ field: 'labels.alertname', op: '=', value: labels.alertname }]
      : i % 5 === 1
        ? [{ field: 'labels.instance', op: '~', value: `web-${i}-*` }]
        : [{ field: 'labels.alertname', op: '=', value: `Other${i}` }];
  const hour = (ahead: number) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: timezone, hour: '2-digit', minute: '2-digit' }).format(
      Date.now() + ahead * 3_600_000,
    );
  const answer = await fetch(`${address}/api/o/${slug}/silences/`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ path: 'shop', matchers, reason: 'nightly work', recurrence: { timezone, from: hour(6), to: hour(8) } },
      ends_at: new Date(Date.now() + 30 * 86_400_000).toISOString(),
    }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
}

/** Returns alerts per second, from the first trigger until all have been sent. */
async function sendAlerts(
  { sql }: Stage,
  load: Load,
  address: string,
  { slug, key }: Organization,
  size: number,
): Promise<number> {
  const body = JSON.stringify({ context: { id: uniqueMark, labels }, options: { recipients: ['ann@x.test'] } });
  const path = `/api/o/${slug}/p/shop/a/web/e/order/trigger/`;
  const since = lowestUuidAt(Date.now());
  const counted = `select count(*)::int as n, count(*) filter (where sent = 1)::int as sent from occurrences where id >= $1`;
  const began = performance.now();
  await load.run({ ...triggerJob({ key }, [address], [path], [body]), amount: size });
  const areSent = async () => {
    const { rows } = await sql.query<{ n: number; sent: number }>(counted, [since]);
    const { n, sent } = rows[0]!;
    if (n !== size) throw new Error(`${n} alerts are stored instead of ${size}`);
    return sent === size;
  };
  await until(`${size} alerts to be sent`, areSent, 120_000);
  return size / ((performance.now() - began) / 1_000);
}
