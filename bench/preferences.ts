/**
 * What people's choices cost: the same fan-out to people who chose nothing and to people with five choices each, by turns,
 * everybody being told in both; and the hosted preference page among a million people.
 */
import type pg from 'pg';
import { crowd, event, fan, sandbox } from './fan-out.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage, type Stage } from './stage.ts';

const chosen = `
  (values ('everything', '', false), ('category:news', '', false), ('category:news', 'email', true),
    ('category:orders', 'sms', false), ('category:offers', 'email', false)) c (scope, channel_type, enabled)`;

export const preferences: Scenario = {
  name: 'preferences',
  summary:
    'a fan-out to 100,000 (quick: 2,000) with five choices each beside one without, and the preference page among 1,000,000',
  async run({ quick, log }) {
    const size = quick ? 2_000 : 100_000;
    const distribution_lists = [{ name: 'plain' }, { name: 'choosing' }];
    const stage = await openStage([sandbox], [event('plain'), event('choosing')], { distribution_lists });
    try {
      await categorize(stage.sql);
      await crowd(stage.sql, 'plain', size);
      await crowd(stage.sql, 'choosing', size);
      await choose(stage.sql, 'choosing');
      const { address } = await stage.start('all');
      const rounds = await fanByTurns(stage, address, size, quick ? 1 : 5);
      await crowdPage(stage.sql, quick ? 10_000 : 1_000_000 - 2 * size, log);
      return [...rounds, ...(await visitPages(stage, address, quick ? 5 : 200))];
    } finally {
      await stage.close();
    }
  },
};

/** Both events are of the category `news`, which is one of three. */
async function categorize(sql: pg.Client): Promise<void> {
  await sql.query(
    `insert into categories (organization_id, slug, name) select o.id, c, initcap(c)
     from organizations o, unnest(array['news', 'orders', 'offers']) c where o.slug = 'bench'`,
  );
  await sql.query(
    `update events e set category_id = c.id from categories c where c.organization_id = e.organization_id and c.slug = 'news'`,
  );
}

/** Switched off in general and for the category, on again for mail: the narrowest decides, and all are told. */
async function choose(sql: pg.Client, prefix: string): Promise<void> {
  await sql.query(
    `insert into preferences (organization_id, user_id, scope, channel_type, enabled, source)
     select u.organization_id, u.id, c.scope, c.channel_type, c.enabled, 'page' from users u, ${chosen}
     where u.username like $1 || '%'`,
    [prefix],
  );
  await sql.query('vacuum analyze');
}

async function fanByTurns(stage: Stage, address: string, size: number, rounds: number): Promise<Row[]> {
  for (const slug of ['plain', 'choosing']) await fan(stage, address, slug, size);
  const rates: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await fan(stage, address, 'plain', size);
    rates.push([await fan(stage, address, 'choosing', size), without]);
  }
  const ratios = rates.map(([chosen, without]) => without / chosen);
  return [
    {
      measure: `fan-out to ${size.toLocaleString('en')} with five choices each`,
      value: quantile(
        rates.map(([rate]) => rate),
        0.5,
      ),
      unit: 'deliveries/s',
      yardstick: quantile(
        rates.map(([, rate]) => rate),
        0.5,
      ),
      note: `the yardstick is the same to people without a choice; the median of ${rounds} rounds by turns`,
    },
    {
      measure: 'cost of five choices',
      value: quantile(ratios, 0.5),
      unit: 'times as long',
      limit: { of: 'value', most: 1.15 },
    },
  ];
}

/** So many more people, each with five choices. */
async function crowdPage(sql: pg.Client, people: number, log: (words: string) => void): Promise<void> {
  log(`${people.toLocaleString('en')} more people with five choices each`);
  // Written with the people instead of row by row.
  await sql.query('alter table preferences disable trigger user');
  await sql.query(
    `insert into users (organization_id, username, email, first_name, chosen)
     select o.id, 'reader' || i || '@x.test', 'reader' || i || '@x.test', 'Ann', made.choices
     from organizations o, generate_series(1, $1::int) i, (
       select json_object_agg(trim(scope || ' ' || channel_type),
         json_build_object('on', enabled, 'source', 'page', 'at', now())) as choices from ${chosen}
     ) made where o.slug = 'bench'`,
    [people],
  );
  await choose(sql, 'reader');
  await sql.query('alter table preferences enable trigger user');
}

/** Each visit another person's: opened, and saved with one choice changed. */
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
    if (!isOn.test(html)) throw new Error(`nothing is switched on at ${page}`);
    await timed(saved, page, { method: 'POST', body: withAllOff(html) });
    if (isOn.test(await timed([], page, {}))) throw new Error(`what was switched off at ${page} is on again`);
  }
  const row = (what: string, times: number[]): Row => ({
    measure: `${what} the preference page, p95`,
    value: quantile(times, 0.95),
    unit: 'ms',
    limit: { of: 'value', most: 50 },
    note: `of ${visits} people; the median is ${quantile(times, 0.5).toFixed(1)} ms`,
  });
  return [row('opening', opened), row('saving', saved)];
}

const isOn = /name="on"[^>]* checked/;

/** The form as a browser sends it, with no category checked. */
function withAllOff(html: string): URLSearchParams {
  const form = new URLSearchParams({ quiet: 'usual', from: '22:00', to: '07:00', timezone: '' });
  for (const [, name, value] of html.matchAll(/<input type="hidden" name="(was|quiet_was)" value="([^"]*)"/g)) {
    form.append(name!, value!.replaceAll('&quot;', '"'));
  }
  return form;
}

/** The page that came, where saving leads back to it. */
async function timed(times: number[], page: string, init: RequestInit): Promise<string> {
  const began = performance.now();
  const answer = await fetch(page, init);
  const html = await answer.text();
  times.push(performance.now() - began);
  if (answer.status !== 200) throw new Error(`${answer.status} from ${page}: ${html}`);
  return html;
}
