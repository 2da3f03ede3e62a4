/**
 * Sends 1,000 alerts through the webhook, PagerDuty and Opsgenie receivers of Debian's Alertmanager, which fire and then end. Belfry is
 * killed once while they fire and once while they end: each alert must open and resolve exactly one occurrence for each receiver.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { installAlertmanager } from '../../test/support/alertmanager.ts';
import { freePort } from '../../test/support/postgres.ts';
import {
  atExit,
  cleanEnv,
  eventually,
  root,
  run,
  type Server,
  Skipped,
  startServer,
  temporaryFolder,
} from './support.ts';

const groups = 20;
const alertsPerGroup = 50;
const alerts = groups * alertsPerGroup;
/** Belfry is killed when about this share of the alerts has been opened, and again of those that were resolved. */
const shareAtKill = 0.3;

/** The requests with which each receiver reports all alerts once: one for each group. */
const receivers = { alertmanager: groups, pagerduty: alerts, opsgenie: alerts } as const;
type Receiver = keyof typeof receivers;
const names = Object.keys(receivers) as Receiver[];
/** As Alertmanager's metrics call them. */
const integrations: Record<Receiver, string> = {
  alertmanager: 'webhook',
  pagerduty: 'pagerduty',
  opsgenie: 'opsgenie',
};

export async function checkAlertmanager(): Promise<string> {
  const installed = await installAlertmanager();
  if ('missing' in installed) throw new Skipped(installed.missing);
  const folder = temporaryFolder('alertmanager');
  const database = await openEmbedded({ dataDir: path.join(folder, 'data'), durable: true });
  const sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  try {
    return await sendThrough(folder, path.join(installed.bin, 'prometheus-alertmanager'), database.url, sql);
  } finally {
    await sql.end();
    await database.release();
  }
}

async function sendThrough(folder: string, program: string, url: string, sql: pg.Client): Promise<string> {
  const belfry = await openBelfry(folder, url);
  let alertmanager: Alertmanager | undefined;
  const began = new Date(Date.now() - 60_000);
  try {
    alertmanager = await startAlertmanager(folder, program, belfry);
    await alertmanager.post(began, new Date(Date.now() + 3_600_000));
    const whileFiring = await belfry.killAt(() => countOccurrences(sql));
    await waitUntilTaken(alertmanager, 1, () => countOccurrences(sql), belfry);
    await alertmanager.post(began, new Date());
    const whileEnding = await belfry.killAt(() => countOccurrences(sql, 'resolved_at is not null'));
    await waitUntilTaken(alertmanager, 2, () => countOccurrences(sql, 'resolved_at is not null'), belfry);
    const counts = await requireOneEach(sql);
    const failed = await alertmanager.requests('failed_total');
    const refused = names.reduce((sum, name) => sum + failed[name], 0);
    return (
      `Alertmanager ${alertmanager.version}: of ${alerts} alerts, ${counts.join(', ')}; Belfry was killed after ${whileFiring} of ` +
      `${alerts * names.length} were open and after ${whileEnding} were resolved, and ${refused} requests were sent again`
    );
  } finally {
    await alertmanager?.stop();
    await belfry.stop();
  }
}

interface Belfry {
  address: string;
  tokens: Record<Receiver, string>;
  output(): string;
  /** Kills the process when enough is counted, and starts another one. Returns the count when it was gone. */
  killAt(count: () => Promise<number>): Promise<number>;
  stop(): Promise<void>;
}

async function openBelfry(folder: string, url: string): Promise<Belfry> {
  const program = [process.execPath, path.join(root, 'bin/belfry.js')];
  const port = String(await freePort());
  const env = { DATABASE_URL: url, BELFRY_SECRET_KEY: 'a secret of at least 32 characters', PORT: port };
  const tokens = Object.fromEntries(names.map(name => [name, name.padEnd(32, '0')])) as Record<Receiver, string>;
  const file = path.join(folder, 'acme.json');
  await writeFile(file, JSON.stringify({ organizations: [organizationWith(tokens)] }));
  const start = (): Promise<Server> => startServer([...program, 'serve'], folder, env);
  let server = await start();
  await run(program[0]!, [program[1]!, 'apply', file], { env });
  return {
    address: server.address,
    tokens,
    output: () => server.output(),
    killAt: async count => {
      const enough = alerts * names.length * shareAtKill;
      await eventually(`${enough} occurrences`, async () => (await count()) >= enough);
      await server.kill();
      const killedAt = await count();
      if (killedAt === alerts * names.length) throw new Error('Belfry was killed too late: nothing was left to do');
      server = await start();
      return killedAt;
    },
    stop: () => server.stop(),
  };
}

/** Each receiver has a source of its own, and all have the same event. */
function organizationWith(tokens: Record<Receiver, string>): object {
  const sources = names.map(name => ({
    slug: name,
    name,
    use: name,
    token: tokens[name],
    routes: [{ event: 'page' }],
  }));
  const message = { subject: '{{ title }}', body: '{{ source }}' };
  const recipients = { users: "email == 'ann@acme.test'" };
  const notifications = [{ name: 'page', recipients, channels: ['mail'], message }];
  return {
    slug: 'acme',
    name: 'Acme',
    users: [{ email: 'ann@acme.test' }],
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] }],
    projects: [
      {
        slug: 'ops',
        name: 'Operations',
        applications: [
          { slug: 'alerts', name: 'Alerts', events: [{ slug: 'page', name: 'Page', notifications }], sources },
        ],
      },
    ],
  };
}

interface Alertmanager {
  version: string;
  /** Posts all alerts, as Prometheus does. */
  post(startsAt: Date, endsAt: Date): Promise<void>;
  /** Returns the number of requests of each receiver so far. */
  requests(kind: 'total' | 'failed_total'): Promise<Record<Receiver, number>>;
  stop(): Promise<void>;
}

async function startAlertmanager(folder: string, program: string, { address, tokens }: Belfry): Promise<Alertmanager> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const file = path.join(folder, 'alertmanager.json');
  await writeFile(file, JSON.stringify(configurationOf(address, tokens)));
  const flags = {
    'config.file': file,
    'storage.path': path.join(folder, 'alertmanager'),
    'web.listen-address': `127.0.0.1:${port}`,
    // It would look for others otherwise.
    'cluster.listen-address': '',
    'log.level': 'error',
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(program, args, { cwd: folder, env: cleanEnv(), stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', text => (output += text));
  const ended = new Promise<void>(resolve => child.on('error', () => resolve()).on('close', () => resolve()));
  atExit(() => child.kill('SIGKILL'));
  await eventually('Alertmanager to listen', () => {
    if (child.exitCode !== null) throw new Error(`Alertmanager exited with ${child.exitCode}:\n${output}`);
    return fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  const { versionInfo } = (await (await fetch(`${origin}/api/v2/status`)).json()) as {
    versionInfo: { version: string };
  };
  return {
    version: versionInfo.version,
    post: async (startsAt, endsAt) => {
      for (let group = 0; group < groups; group++) {
        const body = JSON.stringify(listAlerts(group).map(alert => ({ ...alert, startsAt, endsAt })));
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`${origin}/api/v2/alerts`, { method: 'POST', headers, body });
        if (!answer.ok)
          throw new Error(`Alertmanager refuses the alerts with ${answer.status}: ${await answer.text()}`);
      }
    },
    requests: async kind => {
      const text = await (await fetch(`${origin}/metrics`)).text();
      const read = (name: Receiver) =>
        Number(
          new RegExp(
            `^alertmanager_notification_requests_${kind}{integration="${integrations[name]}"} (\\d+)`,
            'm',
          ).exec(text)?.[1] ?? 0,
        );
      return Object.fromEntries(names.map(name => [name, read(name)])) as Record<Receiver, number>;
    },
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

/** The webhook gets groups of alerts; the others get one message for each group, so that each alert is a group. */
function configurationOf(address: string, tokens: Record<Receiver, string>): object {
  const each = ['...'];
  const title = '{{ .CommonAnnotations.summary }}';
  return {
    global: { opsgenie_api_url: `${address}/` },
    route: {
      receiver: 'none',
      group_wait: '1s',
      group_interval: '5s',
      repeat_interval: '1h',
      routes: [
        { receiver: 'webhook', group_by: ['group'], continue: true },
        { receiver: 'pagerduty', group_by: each, continue: true },
        { receiver: 'opsgenie', group_by: each },
      ],
    },
    receivers: [
      { name: 'none' },
      { name: 'webhook', webhook_configs: [{ url: `${address}/in/${tokens.alertmanager}/`, send_resolved: true }] },
      {
        name: 'pagerduty',
        pagerduty_configs: [{ url: `${address}/v2/enqueue`, routing_key: tokens.pagerduty, description: title }],
      },
      { name: 'opsgenie', opsgenie_configs: [{ api_key: tokens.opsgenie, message: title }] },
    ],
  };
}

function listAlerts(group: number): object[] {
  return Array.from({ length: alertsPerGroup }, (_, i) => ({
    labels: { alertname: 'DiskFull', severity: 'critical', group: String(group), disk: `${group}-${i}` },
    annotations: { summary: `Disk ${group}-${i} is full` },
  }));
}

/** Waits until Belfry has stored all alerts, and until Alertmanager knows: it would forget what it could not report in time. */
async function waitUntilTaken(
  alertmanager: Alertmanager,
  times: number,
  count: () => Promise<number>,
  belfry: Belfry,
): Promise<void> {
  const all = alerts * names.length;
  const waiting = eventually('all alerts', async () => {
    if ((await count()) < all) return false;
    const [sent, failed] = [await alertmanager.requests('total'), await alertmanager.requests('failed_total')];
    return names.every(name => sent[name] - failed[name] >= receivers[name] * times);
  });
  await waiting.catch(async error => {
    throw new Error(`${error.message}: ${await count()} of ${all}\n${belfry.output().slice(-2_000)}`);
  });
}

async function countOccurrences(sql: pg.Client, condition = 'true'): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(`select count(*)::int as n from occurrences where ${condition}`);
  return rows[0]!.n;
}

/** Throws unless each alert has one occurrence for each receiver, which is resolved. */
async function requireOneEach(sql: pg.Client): Promise<string[]> {
  const { rows } = await sql.query<{ source: Receiver; opened: number; distinct: number; resolved: number }>(
    `select context ->> 'source' as source, count(*)::int as opened, count(distinct context ->> 'title')::int as distinct,
       count(resolved_at)::int as resolved
     from occurrences group by 1`,
  );
  return names.map(name => {
    const { opened, distinct, resolved } = rows.find(({ source }) => source === name)!;
    const text = `${integrations[name]} opened ${opened} and resolved ${resolved}`;
    if (opened !== alerts || distinct !== alerts || resolved !== alerts)
      throw new Error(`${text}, of ${distinct} different alerts, instead of ${alerts} each`);
    return text;
  });
}
