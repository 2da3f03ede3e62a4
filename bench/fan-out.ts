/**
 * One trigger to a long list, with a provider that does nothing: from the decision to the outcome of every message. The baseline
 * is the minimum that any queue on PostgreSQL does with the same table: claim and complete, without deciding or sending.
 */
import type pg from 'pg';
import { lowestUuidAt } from '../src/core/ids.ts';
import type { Scenario } from './scenario.ts';
import { cpuMs, openStage, residentMb, type Stage, until } from './stage.ts';

export const sandbox = { slug: 'sandbox', name: 'Sandbox', type: 'email', providers: [{ use: 'sandbox' }] };
const batch = 500;

export const fanOut: Scenario = {
  name: 'fan-out',
  summary: 'a list of 100,000 (quick: 5,000) with a provider that does nothing, vs. a bare claim-and-complete loop',
  async run({ quick }) {
    const size = quick ? 5_000 : 100_000;
    const warmUp = 3_000;
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const stage = await openStage([sandbox], [event('all'), event('few')], { distribution_lists });
    try {
      await addMembers(stage.sql, 'all', size);
      await addMembers(stage.sql, 'few', warmUp);
      const bare = await bareLoop(stage.sql, size);
      const api = await stage.start('api');
      const worker = await stage.start('worker');
      await runFanOut(stage, api.address, 'few', warmUp);
      const before = await residentMb(worker);
      let peak = before;
      const watch = setInterval(async () => {
        peak = Math.max(peak, await residentMb(worker).catch(() => 0));
      }, 100);
      const used = await cpuMs(worker);
      const perSecond = await runFanOut(stage, api.address, 'all', size);
      clearInterval(watch);
      const each = (((await cpuMs(worker)) - used) * 1_000) / size;
      return [
        {
          measure: `fan-out to ${size.toLocaleString('en')}`,
          value: perSecond,
          unit: 'deliveries/s',
          baseline: bare,
          limit: { of: 'ratio', min: 0.5 },
          note: `the baseline claims and completes ${batch} at a time on one connection`,
        },
        { measure: 'CPU time of the worker per delivery', value: each, unit: 'µs' },
        { measure: 'memory growth of the worker', value: peak - before, unit: 'MB', limit: { of: 'value', max: 100 } },
      ];
    } finally {
      await stage.close();
    }
  },
};

export function event(slug: string) {
  const message = { subject: 'Hello {{ user.first_name }}', body: 'Order {{ n }} is on its way to {{ user.email }}.' };
  const notification = { name: slug, recipients: { list: slug }, channels: ['sandbox'], message };
  return { slug, name: slug, notifications: [notification] };
}

/** Creates users and adds them to the list. */
export async function addMembers(sql: pg.Client, list: string, size: number): Promise<void> {
  await sql.query(
    `with org as (
       select id as organization_id from organizations where slug = 'bench'
     ), list as (
       select l.organization_id, l.id from distribution_lists l join org using (organization_id) where l.name = $1
     ), made as (
       insert into users (organization_id, username, email, first_name)
       select organization_id, $1 || i || '@x.test', $1 || i || '@x.test', 'Ann' from org, generate_series(1, $2::int) i
       returning organization_id, id, email
     ), reached as (
       insert into addresses (organization_id, user_id, name, value)
       select organization_id, id, 'email', email from made returning organization_id, id
     )
     insert into members (organization_id, list_id, address_id)
     select list.organization_id, list.id, reached.id from list join reached using (organization_id)`,
    [list, size],
  );
  await sql.query('vacuum analyze');
}

/** Returns deliveries per second, from the trigger until the last outcome is recorded. `sent`: how many of them succeed. */
export async function runFanOut(
  { key, sql }: Stage,
  address: string,
  slug: string,
  size: number,
  { sent = size, ...options }: { sent?: number; [option: string]: unknown } = {},
): Promise<number> {
  const began = performance.now();
  const answer = await fetch(`${address}/api/o/bench/p/shop/a/web/e/${slug}/trigger/`, {
    method: 'POST',
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ context: { n: 7 }, options }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
  const { occurrence } = (await answer.json()) as { occurrence: string };
  const completed = async () => {
    const text = `select status, sent from occurrences where id = $1`;
    const { rows } = await sql.query<{ status: string; sent: number }>(text, [occurrence]);
    return rows[0]?.status === 'completed' && rows[0].sent === sent;
  };
  await until(`${size} messages`, completed, 900_000);
  return size / ((performance.now() - began) / 1_000);
}

/** Returns how many deliveries per second can be claimed and completed, with nothing in between. */
async function bareLoop(sql: pg.Client, size: number): Promise<number> {
  const occurrence = lowestUuidAt(Date.now());
  await sql.query(
    `insert into deliveries (organization_id, occurrence_id, notification_id, version, channel_id, user_id, address,
       status, priority, due_at)
     select u.organization_id, $2, 1, 1, 1, u.id, u.email, 'pending', 2, now()
     from users u order by u.id limit $1`,
    [size, occurrence],
  );
  await sql.query('vacuum analyze deliveries');
  const began = performance.now();
  let done = 0;
  for (;;) {
    const { rows } = await sql.query<{ id: string }>({
      name: 'bare_claim',
      text: `
        update deliveries d set status = 'sending', owner = 1, attempts = d.attempts + 1
        from (
          select organization_id, occurrence_id, id from deliveries
          where status in ('pending', 'retrying') and priority = 2
            and organization_id = (select id from organizations where slug = 'bench') and due_at <= now()
          order by due_at limit $1 for update skip locked
        ) p
        where d.organization_id = p.organization_id and d.occurrence_id = p.occurrence_id and d.id = p.id
        returning d.id`,
      values: [batch],
    });
    if (rows.length === 0) break;
    await sql.query({
      name: 'bare_complete',
      text: `
        update deliveries set status = 'sent', owner = null, sent_at = now()
        where organization_id = (select id from organizations where slug = 'bench')
          and occurrence_id = $2 and id = any($1::bigint[])`,
      values: [rows.map(row => row.id), occurrence],
    });
    done += rows.length;
  }
  const perSecond = done / ((performance.now() - began) / 1_000);
  if (done !== size) throw new Error(`the baseline completed ${done} of ${size}`);
  // Leaves the table as in a new installation, without statistics.
  await sql.query('truncate deliveries');
  return perSecond;
}
