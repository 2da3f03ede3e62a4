/** A service reports what became of 1,000 messages a second while triggers arrive: nothing is lost, and triggers hardly wait. */
import type pg from 'pg';
import { Agent } from 'undici';
import { quantile, type Scenario } from './scenario.ts';
import { openStage } from './stage.ts';
import { steady } from './steady.ts';

const eventsPerSecond = 1_000;
/** Services with this many messages report in batches. */
const eventsPerRequest = 20;
const triggersPerSecond = 100;
const perOccurrence = 1_000;
/** One event in so many is a permanent bounce, which corrects a delivery and suppresses its address; others were delivered. */
const bounceEvery = 50;

const channels = [
  { slug: 'sandbox', name: 'Sandbox', type: 'email', providers: [{ use: 'sandbox' }] },
  {
    slug: 'service',
    name: 'Service',
    type: 'email',
    providers: [{ use: 'sparkpost', api_key: 'unused', from: 'bench@x.test' }],
  },
];
const notification = {
  name: 'notify',
  recipients: { trigger: true },
  channels: ['sandbox'],
  message: { subject: 'Order', body: 'It is on its way.' },
};

export const feedback: Scenario = {
  name: 'feedback',
  summary: `${eventsPerSecond.toLocaleString('en')} events a second from a service for a minute (quick: 2 s) while triggers arrive`,
  async run({ quick, log }) {
    const seconds = quick ? 2 : 60;
    const aside = quick ? 1 : 20;
    const stage = await openStage(channels, [{ slug: 'paid', name: 'Paid', notifications: [notification] }]);
    const { sql } = stage;
    const agent = new Agent({ connections: 64 });
    try {
      const bodies = batchesOf(await fillDeliveries(sql, seconds * eventsPerSecond));
      const service = await stage.start('all');
      const { rows } = await sql.query(`select feedback_token as token from channels where slug = 'service'`);
      const post = async (path: string, headers: Record<string, string>, body: string, expected: number) => {
        const began = performance.now();
        const options = { origin: service.address, path, method: 'POST' as const, body };
        const response = await agent.request({
          ...options,
          headers: { 'content-type': 'application/json', ...headers },
        });
        await response.body.dump();
        if (response.statusCode !== expected) throw new Error(`${path} responded with ${response.statusCode}`);
        return performance.now() - began;
      };
      const trigger = () =>
        post(
          '/api/o/bench/p/shop/a/web/e/paid/trigger/',
          { authorization: `Key ${stage.key}` },
          JSON.stringify({ options: { recipients: ['ann@x.test'] } }),
          201,
        );
      const waiting = bodies.values();
      const report = () => post(`/feedback/${rows[0].token}/sparkpost/`, {}, waiting.next().value!, 200);
      const triggers = (forSeconds: number) => steady(trigger, triggersPerSecond, forSeconds);

      await triggers(quick ? 0.5 : 10);
      const before = await triggers(aside);
      log(`reports ${(bodies.length * eventsPerRequest).toLocaleString('en')} events`);
      const began = performance.now();
      const [during, reports] = await Promise.all([
        triggers(seconds),
        steady(report, eventsPerSecond / eventsPerRequest, seconds),
      ]);
      const took = (performance.now() - began) / 1_000;
      const without = [...before, ...(await triggers(aside))];
      const lost = await countLost(sql, bodies.length * eventsPerRequest);
      const p99 = (times: number[]) => quantile(times, 0.99);
      return [
        {
          measure: 'triggers meanwhile, p99 (vs. without events)',
          value: p99(during),
          unit: 'ms',
          baseline: p99(without),
          limit: { of: 'ratio', max: 2 },
          note: `${triggersPerSecond} a second; the baseline is measured before and after in the same run`,
        },
        {
          measure: 'events stored',
          value: (bodies.length * eventsPerRequest) / took,
          unit: '/s',
          limit: { of: 'value', min: 0.95 * eventsPerSecond },
        },
        {
          measure: 'events lost, or not applied',
          value: lost,
          unit: 'events',
          limit: { of: 'value', max: 0 },
          note: 'each is stored once with its delivery; bounces are in deliveries, counts and the suppression list',
        },
        { measure: `reporting ${eventsPerRequest} events, p50`, value: quantile(reports, 0.5), unit: 'ms' },
        { measure: `reporting ${eventsPerRequest} events, p99`, value: p99(reports), unit: 'ms' },
      ];
    } finally {
      await agent.close();
      await stage.close();
    }
  },
};

interface Sent {
  occurrence_id: string;
  id: string;
  address: string;
}

/** Inserts deliveries that the service has accepted. */
async function fillDeliveries(sql: pg.Client, size: number): Promise<Sent[]> {
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, context, options, due_at,
       created_at, completed_at, deliveries, sent)
     select e.organization_id, (lpad(to_hex(floor(extract(epoch from now()) * 1000)::bigint), 12, '0') || '70008'
         || lpad(to_hex(n), 15, '0'))::uuid, a.project_id, a.id, e.id, 'completed', '{}', '{}', now(), now(), now(), $1::int, $1::int
     from events e join applications a on a.id = e.application_id, generate_series(1, $2::int) n`,
    [perOccurrence, Math.ceil(size / perOccurrence)],
  );
  const { rows } = await sql.query<Sent>(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status,
       priority, attempts, provider, due_at, created_at, sent_at)
     select o.organization_id, o.id, n.id, 1, c.id, 1, 'ann.' || o.n || '.' || k || '@bell.example.test', 'sent', 2, 1,
       'sparkpost', now(), now(), now()
     from (select *, row_number() over () as n from occurrences) o
     join channels c on c.slug = 'service', notifications n, generate_series(1, $1::int) k
     returning occurrence_id, id, address`,
    [perOccurrence],
  );
  await sql.query('analyze');
  return rows.slice(0, size);
}

/** Returns the bodies of requests as SparkPost sends them. */
function batchesOf(deliveries: Sent[]): string[] {
  const events = deliveries.map(({ occurrence_id, id, address }, i) => ({
    msys: {
      message_event: {
        ...(i % bounceEvery === 0
          ? { type: 'bounce', bounce_class: '10', raw_reason: '550 5.1.1 no such user' }
          : { type: 'delivery' }),
        rcpt_to: address,
        rcpt_meta: { belfry_id: `${occurrence_id}.${id}` },
        timestamp: String(Math.floor(Date.now() / 1_000)),
      },
    },
  }));
  const bodies: string[] = [];
  for (let i = 0; i < events.length; i += eventsPerRequest) {
    bodies.push(JSON.stringify(events.slice(i, i + eventsPerRequest)));
  }
  return bodies;
}

/** Returns how many events are missing, or how many of their effects. */
async function countLost(sql: pg.Client, posted: number): Promise<number> {
  const { rows } = await sql.query<Record<'stored' | 'unmatched' | 'corrected' | 'counted' | 'suppressed', number>>(
    `select (select count(*)::int from feedback) as stored, (select count(*)::int from feedback_unmatched) as unmatched,
       (select count(*)::int from deliveries where status = 'failed' and reason = 'bounced') as corrected,
       (select coalesce(sum(failed), 0)::int from occurrences) as counted,
       (select count(*)::int from suppressions) as suppressed`,
  );
  const { stored, unmatched, corrected, counted, suppressed } = rows[0]!;
  const bounces = Math.ceil(posted / bounceEvery);
  const missing = [corrected, counted, suppressed].map(found => Math.abs(bounces - found));
  return Math.abs(posted - stored) + unmatched + Math.max(...missing);
}
