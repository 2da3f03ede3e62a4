/**
 * What the guards cost, and what they must not: the everyday load with all of them on and off by turns, and urgent messages while
 * 1,000,000 bulk messages wait, by turns with a service where nothing waits.
 */
import type { ChildProcess } from 'node:child_process';
import { lowestUuidAt } from '../src/core/ids.ts';
import { endToEnd, openBelfry, openEveryday } from './everyday.ts';
import { sandbox } from './fan-out.ts';
import { alternate, medianRound, openLoad } from './load.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openPeer, openStage, type Stage } from './stage.ts';
import { inBursts, steady, warmUpMessages } from './steady.ts';
import { Stopwatch } from './stopwatch.ts';

const secret = 'whsec_bWV0YWwgYmVsbHMgcmluZyBjbGVhcmx5';
const off = { audience: 'off', rate: 'off', urgent_rate: 'off' };
const urgentPerSecond = 50;
/** The rate of the channel behind which bulk messages wait. */
const slowPerSecond = 20;

export const guards: Scenario = {
  name: 'guards',
  summary:
    'everyday triggers with the guards on and off by turns, and urgent messages while 1,000,000 (quick: 5,000) bulk messages wait',
  async run(options) {
    const rows = [...(await everydayWithGuards(options)), ...(await urgentMessages('slow', options))];
    // A quick run has no time for another pair of services.
    return options.quick ? rows : [...rows, ...(await urgentMessages('fast', options))];
  },
};

async function everydayWithGuards({ quick, log }: { quick: boolean; log: (text: string) => void }): Promise<Row[]> {
  const [triggers, warmUp, rounds] = quick ? [300, 100, 1] : [10_000, 5_000, 15];
  const load = openLoad();
  const stage = await openEveryday();
  try {
    const belfry = await openBelfry(stage);
    const withGuard = async (guard: object | null, amount: number) => {
      await setGuard(stage, belfry.origin, guard);
      return endToEnd(load, belfry, 'named', amount);
    };
    await withGuard(null, warmUp);
    await stage.sql.query('analyze');
    log(`${rounds} × ${triggers.toLocaleString('en')} triggers with and without guards`);
    const [on, without] = await alternate([() => withGuard(null, triggers), () => withGuard(off, triggers)], rounds);
    const { measured, spread } = medianRound(on!, without!);
    const cpu = (part: 'service' | 'database') => {
      const [value, baseline] = [on!, without!].map(each =>
        quantile(
          each.map(round => round.cpu[part]!),
          0.5,
        ),
      );
      return { value: value!, unit: 'µs', baseline: baseline! };
    };
    return [
      {
        measure: 'one recipient each, with all guards (vs. with none)',
        value: measured[0].perSecond,
        unit: 'messages/s',
        baseline: measured[1].perSecond,
        limit: { of: 'ratio', min: 0.97 },
        note: spread,
      },
      { measure: 'CPU time of the service per message', ...cpu('service') },
      { measure: 'CPU time of PostgreSQL per message', ...cpu('database') },
    ];
  } finally {
    load.close();
    await stage.close();
  }
}

/** Null: the defaults. */
async function setGuard({ key }: Stage, origin: string, guard: object | null): Promise<void> {
  const { status } = await fetch(`${origin}/api/o/bench/`, {
    method: 'PATCH',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ guard }),
  });
  if (status !== 200) throw new Error(`setting the guard got a ${status}`);
}

/** One service where so many messages of a channel wait, and one where none does. */
async function urgentMessages(
  channel: 'slow' | 'fast',
  { quick, log }: { quick: boolean; log: (text: string) => void },
): Promise<Row[]> {
  const [bulk, seconds, rounds] = quick ? [5_000, 0.5, 1] : [1_000_000, 10, 7];
  const stages: Stage[] = [];
  const peers: ChildProcess[] = [];
  const open = async () => {
    const { peer, port } = await openPeer('./peer-webhook.ts');
    peers.push(peer);
    const provider = { use: 'standard-webhooks', url: `http://127.0.0.1:${port}/`, secret };
    const stage = await openStage(
      [
        { slug: 'webhook', name: 'Webhook', type: 'webhook', providers: [provider] },
        { ...sandbox, slug: 'slow', name: 'Slow', rate_per_second: slowPerSecond },
        { ...sandbox, slug: 'fast', name: 'Fast' },
      ],
      ['webhook', 'slow', 'fast'].map(event),
    );
    stages.push(stage);
    const { address } = await stage.start('all');
    const url = `${address}/api/o/bench/p/shop/a/web/e/webhook/trigger/`;
    const stopwatch = new Stopwatch(url, stage.key, { priority: 'urgent' });
    peer.on('message', n => stopwatch.arrived(n as number));
    await inBursts(() => stopwatch.time(), quick ? 50 : warmUpMessages);
    return { stage, measure: () => steady(() => stopwatch.time(), urgentPerSecond, seconds) };
  };
  try {
    const [full, empty] = [await open(), await open()];
    await fillBulk(full.stage, channel, bulk);
    const amount = bulk.toLocaleString('en');
    log(`urgent messages while ${amount} others ${channel === 'slow' ? 'wait' : 'are sent'}`);
    for (const { measure } of [full, empty]) await measure();
    const before = await countWaiting(full.stage);
    const [waiting, none] = await alternate([full.measure, empty.measure], rounds);
    const left = await countWaiting(full.stage);
    if (left === 0) throw new Error('all bulk messages were sent before the urgent ones');
    const rowOf = (part: number, name: string): Row => {
      const [value, baseline] = [waiting!, none!].map(each =>
        quantile(
          each.map(times => quantile(times, part)),
          0.5,
        ),
      );
      const others = channel === 'slow' ? 'wait for their channel' : 'are sent as fast as possible';
      return {
        measure: `urgent while ${amount} others ${others}, ${name}`,
        value: value!,
        unit: 'ms',
        baseline: baseline!,
      };
    };
    const note = `${urgentPerSecond} urgent messages/s in ${rounds} alternating rounds; ${(before - left).toLocaleString('en')} bulk messages were sent meanwhile, and ${left.toLocaleString('en')} left`;
    const limit = { of: 'ratio', max: 1.2 } as const;
    return [{ ...rowOf(0.99, 'p99'), ...(channel === 'slow' && { limit }), note }, rowOf(0.5, 'median')];
  } finally {
    for (const peer of peers) peer.disconnect();
    await Promise.all(stages.map(stage => stage.close()));
  }
}

function event(slug: string) {
  const message = { subject: 'n {{ n }}', body: 'Order {{ n }} is on its way.' };
  return {
    slug,
    name: slug,
    notifications: [{ name: slug, recipients: { trigger: true }, channels: [slug], message }],
  };
}

/** Inserts one bulk occurrence with so many messages as an expansion leaves them: due now. */
async function fillBulk({ sql }: Stage, channel: string, size: number): Promise<void> {
  const row = `
    select e.organization_id, a.project_id, e.application_id, e.id as event_id, n.id as notification_id, c.id as channel_id
    from events e
    join applications a on a.organization_id = e.organization_id and a.id = e.application_id
    join notifications n on n.organization_id = e.organization_id and n.event_id = e.id
    join channels c on c.organization_id = e.organization_id and c.slug = e.slug
    where e.slug = $1`;
  const id = lowestUuidAt(Date.now());
  await sql.query(
    `insert into occurrences (organization_id, id, project_id, application_id, event_id, status, priority, context, options, due_at,
       created_at, deliveries)
     select organization_id, $2, project_id, application_id, event_id, 'sending', 2, '{"n": 0}', '{}', now(), now(), $3
     from (${row}) p`,
    [channel, id, size],
  );
  await sql.query(
    `with person as (
       select id from users where username = 'ann@x.test'
     )
     insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address, status,
       priority, due_at, user_version)
     select p.organization_id, $2, p.notification_id, 1, p.channel_id, person.id, 'bulk' || i || '@x.test', 'pending', 2, now(), 1
     from (${row}) p, person, generate_series(1, $3::int) i`,
    [channel, id, size],
  );
  await sql.query('vacuum analyze deliveries');
  await sql.query('checkpoint');
  await sql.query(`notify belfry_work`);
}

async function countWaiting({ sql }: Stage): Promise<number> {
  const { rows } = await sql.query<{ count: number }>(
    `select count(*)::int as count from deliveries where status in ('pending', 'sending', 'retrying')`,
  );
  return rows[0]!.count;
}
