/**
 * Measures every read request of the console's pages on a database with years of data: first and deep pages, common and rare
 * filters, and filters that find nothing, because those read the most rows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { createPartitions } from '../src/db/connection/partitions.ts';
import { openDatabase } from '../src/db/connection/pool.ts';
import { sumStatistics } from '../src/services/history/stats/stats.ts';
import { pageRequests, type Visit } from './page-requests.ts';
import { quantile, type Row, type Scenario } from './scenario.ts';
import { openStage } from './stage.ts';
import { fillDatabase, type Sizes, scaled } from './volume.ts';

const limitMs = 200;
const dayMs = 86_400_000;

export const pages: Scenario = {
  name: 'pages',
  summary: `the requests of each console page, with 1,000,000 users and 5,000,000 deliveries (quick: a hundredth)`,
  async run({ quick, log }) {
    const stage = await openVolume();
    try {
      await fill(stage, scaled(quick ? 0.01 : 1), log);
      const { address } = await stage.start('all');
      return await measure(address, stage.key, stage.sql, quick);
    } finally {
      await stage.close();
    }
  },
};

export function openVolume() {
  const message = {
    subject: 'Order {{ order }}',
    body: 'Hello {{ user.first_name }}, **{{ amount }}** it is. {{ text }}',
  };
  const notification = { name: 'notify', recipients: { trigger: true }, channels: ['mail'], message };
  const mail = { use: 'smtp', host: '127.0.0.1', port: 2525, from: 'bench@x.test' };
  return openStage(
    [
      { slug: 'mail', name: 'Mail', type: 'email', providers: [mail] },
      { slug: 'sandbox', name: 'Sandbox', type: 'email', providers: [{ use: 'sandbox' }] },
    ],
    [{ slug: 'welcome', name: 'Welcome', notifications: [notification] }],
  );
}

/** Fills the database, including the previous months. */
export async function fill(
  { url, sql }: { url: string; sql: pg.Client },
  sizes: Sizes,
  log: (text: string) => void,
): Promise<void> {
  const database = openDatabase({ url, name: 'bench', connections: 1 });
  await createPartitions(database.db, Date.now() - 62 * dayMs);
  await fillDatabase(sql, sizes, log);
  await sql.query(
    `insert into suppressions (organization_id, channel_type, target, reason, source)
     select id, 'email', 'gone' || n || '@nowhere.test', (array['bounced', 'complained'])[n % 2 + 1], 'import'
     from organizations, generate_series(1, $1::int) n where slug = 'bench'`,
    [Math.ceil(sizes.users / 10)],
  );
  // As daily maintenance would have done.
  await sumStatistics(database, Date.now());
  await sql.query('analyze');
  await database.close();
}

/** Returns a row for each page with its slowest request; prints all requests, except in a quick run. */
async function measure(address: string, key: string, sql: pg.Client, quick: boolean): Promise<Row[]> {
  const visit = await signIn(address, key);
  const requests = await pageRequests(visit, sql);
  await requireAll(address, requests);
  const times = new Map<string, number[]>(requests.map(({ path }) => [path, []]));
  for (let round = 0; round < (quick ? 1 : 15); round++) {
    for (const { path } of shuffled(requests)) times.get(path)!.push(await time(visit, path));
  }
  const results = requests.map(({ page, what, path }) => {
    const each = times.get(path)!;
    return { page, what, path, median: quantile(each, 0.5), p95: quantile(each, 0.95) };
  });
  if (!quick)
    console.table(
      results.map(({ page, what, median, p95 }) => ({
        page,
        what,
        'median ms': Number(median.toFixed(1)),
        'p95 ms': Number(p95.toFixed(1)),
        verdict: median < limitMs ? '' : `FAIL: ${limitMs} ms`,
      })),
    );
  return [...Map.groupBy(results, ({ page }) => page)].map(([page, all]) => {
    const slowest = all.toSorted((a, b) => b.median - a.median)[0]!;
    return {
      measure: `${page}, median of the slowest of ${all.length} requests`,
      value: slowest.median,
      unit: 'ms',
      limit: { of: 'value', max: limitMs },
      note: `${slowest.what}; p95 ${slowest.p95.toFixed(0)} ms`,
    };
  });
}

/** Signs in by accepting an invite. */
async function signIn(address: string, key: string): Promise<Visit> {
  const json = { 'content-type': 'application/json' };
  const invited = await fetch(`${address}/api/o/bench/invite/`, {
    method: 'POST',
    headers: { ...json, authorization: `Key ${key}` },
    body: JSON.stringify({ email: `reader${Date.now()}@x.test`, role: 'owner' }),
  });
  const { link } = (await invited.json()) as { link: string };
  const token = link.split('/').at(-1);
  const accepted = await fetch(`${address}/api/invite/${token}/`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ name: 'Reader', password: 'nine bells ring at noon' }),
  });
  if (accepted.status !== 201) throw new Error(`${accepted.status}: ${await accepted.text()}`);
  const cookie = accepted.headers.getSetCookie()[0]!.split(';')[0]!;
  return { address, cookie };
}

async function time({ address, cookie }: Visit, path: string): Promise<number> {
  const began = performance.now();
  const answer = await fetch(address + path, { headers: { cookie } });
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  if (path.includes('/export/')) {
    // An export is streamed and can have any length: only the first chunk is timed.
    const reader = answer.body!.getReader();
    await reader.read();
    const ms = performance.now() - began;
    await reader.cancel();
    await sleep(50);
    return ms;
  }
  await answer.arrayBuffer();
  return performance.now() - began;
}

/** Endpoints that no page calls: full exports, and those for clients that are not signed in. */
const excluded = [
  '/api/system/ping/',
  '/api/session/oidc/',
  '/api/session/oidc/callback/',
  '/api/invite/{token}/',
  '/api/password-reset/{token}/',
  '/api/o/{org}/audit/export/',
  '/api/o/{org}/suppressions/export/',
  '/api/o/{org}/on-call/report/export/',
  // The benchmark's organization has no such objects.
  '/api/o/{org}/feedback/',
  '/api/o/{org}/feedback/unmatched/',
  '/api/o/{org}/categories/{category}/',
  '/api/o/{org}/occurrence/{identifier}/attachments/{attachment}/',
  '/api/o/{org}/webhooks/{webhook}/',
  '/api/o/{org}/webhooks/{webhook}/messages/',
  '/api/o/{org}/webhooks/{webhook}/messages/{hook_message}/',
  '/api/o/{org}/configuration/',
  '/api/o/{org}/occurrence/{identifier}/hold/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/address/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/payloads/{payload}/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/setup/',
  '/api/o/{org}/p/{prj}/a/{app}/sources/{source}/updates/',
  '/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/',
  '/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/address/',
  '/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/status/',
  '/api/o/{org}/p/{prj}/a/{app}/heartbeats/{heartbeat}/calls/',
  '/api/o/{org}/p/{prj}/a/{app}/watches/{watch}/',
  '/api/o/{org}/silences/{silence}/',
  '/api/o/{org}/silences/{silence}/occurrences/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/on-call/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/shifts/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/groups/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/overrides/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/overrides/{override}/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/swaps/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/swaps/{swap}/',
  '/api/o/{org}/p/{prj}/schedules/{schedule}/calendar/',
  '/api/o/{org}/u/{username}/absences/{absence}/',
  '/api/o/{org}/u/{username}/absence-calendars/{absence_calendar}/',
  // They wait for DNS.
  '/api/o/{org}/c/{channel}/domain/',
  '/api/o/{org}/p/{prj}/c/{channel}/domain/',
  // The stream never ends: see the scenario `inbox`.
  '/api/o/{org}/u/{username}/inbox/stream/',
  // The organization has no web push channel.
  '/api/o/{org}/u/{username}/inbox/push/',
];

/** Fails if a new endpoint is missing from the requests. */
async function requireAll(address: string, requests: { path: string }[]): Promise<void> {
  const document = (await (await fetch(`${address}/openapi.json`)).json()) as { paths: Record<string, object> };
  const documented = Object.keys(document.paths).filter(
    path => 'get' in document.paths[path]! && path.startsWith('/api/'),
  );
  const missing = documented.filter(path => {
    const form = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?|$)`);
    return !excluded.includes(path) && !requests.some(each => form.test(each.path));
  });
  if (missing.length > 0) throw new Error(`not measured: ${missing.join(', ')}; add them to bench/page-requests.ts`);
}

function shuffled<T>(all: readonly T[]): T[] {
  const mixed = [...all];
  for (let i = mixed.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [mixed[i], mixed[j]] = [mixed[j]!, mixed[i]!];
  }
  return mixed;
}
