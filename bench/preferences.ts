/**
 * Measures the cost of preferences: the same fan-out to users without preferences and to users with five each, in alternation. All
 * users are notified in both. Also measures the hosted preference page with a million users.
 */
import type pg from 'pg';
import { addMembers, event, runFanOut, sandbox } from './fan-out.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage, type Stage } from './stage.ts';

const preferenceRows = `
  (values ('everything', '', false), ('category:news', '', false), ('category:news', 'email', true),
    ('category:orders', 'sms', false), ('category:offers', 'email', false)) c (scope, channel_type, enabled)`;

export const preferences: Scenario = {
  name: 'preferences',
  summary:
    'a fan-out to 100,000 (quick: 2,000) with five preferences each vs. none, and the preference page with 1,000,000 users',
  async run({ quick, log }) {
    const size = quick ? 2_000 : 100_000;
    const distribution_lists = [{ name: 'plain' }, { name: 'choosing' }];
    const stage = await openStage([sandbox], [event('plain'), event('choosing')], { distribution_lists });
    try {
      await categorize(stage.sql);
      await addMembers(stage.sql, 'plain', size);
      await addMembers(stage.sql, 'choosing', size);
      await addPreferences(stage.sql, 'choosing');
      const { address } = await stage.start('all');
      const rounds = await alternateFanOuts(stage, address, size, quick ? 1 : 5);
      await addReaders(stage.sql, quick ? 10_000 : 1_000_000 - 2 * size, log);
      return [...rounds, ...(await visitPages(stage, address, quick ? 5 : 200))];
    } finally {
      await stage.close();
    }
  },
};

/** Puts both events into the category `news`, one of three. */
async function categorize(sql: pg.Client): Promise<void> {
  await sql.query(
    `insert into categories (organization_id, slug, name) select o.id, c, initcap(c)
     from organizations o, unnest(array['news', 'orders', 'offers']) c where o.slug = 'bench'`,
  );
  await sql.query(
    `update events e set category_id = c.id from categories c where c.organization_id = e.organization_id and c.slug = 'news'`,
  );
}

/** Off in general and for the category, on again for email: the most specific one decides, so all are notified. */
async function addPreferences(sql: pg.Client, prefix: string): Promise<void> {
  await sql.query(
    `insert into preferences (organization_id, user_id, scope, channel_type, enabled, source)
     select u.organization_id, u.id, c.scope, c.channel_type, c.enabled, 'page' from users u, ${preferenceRows}
     where u.username like $1 || '%'`,
    [prefix],
  );
  await sql.query('vacuum analyze');
}

async function alternateFanOuts(stage: Stage, address: string, size: number, rounds: number): Promise<Row[]> {
  for (const slug of ['plain', 'choosing']) await runFanOut(stage, address, slug, size);
  const rates: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await runFanOut(stage, address, 'plain', size);
    rates.push([await runFanOut(stage, address, 'choosing', size), without]);
  }
  const ratios = rates.map(([withPreferences, without]) => without / withPreferences);
  return [
    {
      measure: `fan-out to ${size.toLocaleString('en')} with five preferences each`,
      value: quantile(
        rates.map(([rate]) => rate),
        0.5,
      ),
      unit: 'deliveries/s',
      baseline: quantile(
        rates.map(([, rate]) => rate),
        0.5,
      ),
      note: `the baseline has no preferences; median of ${rounds} alternating rounds`,
    },
    {
      measure: 'slowdown by five preferences',
      value: quantile(ratios, 0.5),
      unit: '×',
      limit: { of: 'value', max: 1.15 },
    },
  ];
}

/** Adds users with five preferences each. */
async function addReaders(sql: pg.Client, users: number, log: (text: string) => void): Promise<void> {
  log(`adds ${users.toLocaleString('en')} users with five preferences each`);
  // The column that triggers maintain is written directly, instead of row by row.
  await sql.query('alter table preferences disable trigger user');
  await sql.query(
    `insert into users (organization_id, username, email, first_name, chosen)
     select o.id, 'reader' || i || '@x.test', 'reader' || i || '@x.test', 'Ann', made.choices
     from organizations o, generate_series(1, $1::int) i, (
       select json_object_agg(trim(scope || ' ' || channel_type),
         json_build_object('on', enabled, 'source', 'page', 'at', now())) as choices from ${preferenceRows}
     ) made where o.slug = 'bench'`,
    [users],
  );
  await addPreferences(sql, 'reader');
  await sql.query('alter table preferences enable trigger user');
}

/** Opens and saves the page of a different user on each visit. */
async function visitPages(stage: Stage, address: string, visits: number): Promise<Row[]> {
  const opened: number[] = [];
  const saved: number[] = [];
  for (let visit = 0; visit < visits; visit++) {
    const username = encodeURIComponent(`reader${1 + visit * 37}@x.test`);
    const answer = await fetch(`${address}/api/o/bench/u/${username}/preferences/link/`, {
      method: 'POST',
      headers: { authorization: `Key ${stage.key}` },
    });
    if (answer.status !== 201) throw new Error(`${answer.status}: ${await answer.text()}`);
    const { url } = (await answer.json()) as { url: string };
    const page = address + new URL(url).pathname;
    const html = await timed(opened, page, {});
    if (!isOn.test(html)) throw new Error(`nothing is switched on on ${page}`);
    await timed(saved, page, { method: 'POST', body: withAllOff(html) });
    if (isOn.test(await timed([], page, {}))) throw new Error(`a switched-off category is on again on ${page}`);
  }
  const row = (what: string, times: number[]): Row => ({
    measure: `${what} the preference page, p95`,
    value: quantile(times, 0.95),
    unit: 'ms',
    limit: { of: 'value', max: 50 },
    note: `${visits} users; median ${quantile(times, 0.5).toFixed(1)} ms`,
  });
  return [row('opening', opened), row('saving', saved)];
}

const isOn = /name="on"[^>]* checked/;

/** Returns the form as a browser sends it, with no category checked. */
function withAllOff(html: string): URLSearchParams {
  const form = new URLSearchParams({ quiet: 'usual', from: '22:00', to: '07:00', timezone: '' });
  for (const [, name, value] of html.matchAll(/<input type="hidden" name="(was|quiet_was)" value="([^"]*)"/g)) {
    form.append(name!, value!.replaceAll('&quot;', '"'));
  }
  return form;
}

/** Returns the page and records how long it took; saving redirects back to the page. */
async function timed(times: number[], page: string, init: RequestInit): Promise<string> {
  const began = performance.now();
  const answer = await fetch(page, init);
  const html = await answer.text();
  times.push(performance.now() - began);
  if (answer.status !== 200) throw new Error(`${answer.status} from ${page}: ${html}`);
  return html;
}
