/**
 * A campaign to phones: one trigger to a list of devices, half of them at APNs and half at FCM, both with a latency of 20 ms.
 * Every fiftieth device is gone and must be disabled. The baseline is a bare HTTP/2 loop with prebuilt messages and as many
 * requests in flight.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import { certificate } from '../test/support/certificate.ts';
import { runFanOut } from './fan-out.ts';
import { alternate, cpuPerItem, medianRound } from './load.ts';
import type { PushOrder } from './peer-push-loop.ts';
import { createAccounts, tokenOf } from './push-accounts.ts';
import type { Row, Scenario } from './scenario.ts';
import { cpuMs, openPeer, openStage, postgresCpuMs } from './stage.ts';

/** Requests in flight at each service: what HTTP/2 recommends a server to allow at least (RFC 9113, 6.5.2). */
const maxInFlight = 100;
/** Messages until most of the code has been compiled. */
const warmUp = 3_000;

interface Sent {
  perSecond: number;
  /** CPU time per message, in µs. */
  cpu: Record<string, number>;
  /** Requests in flight at one of the services, at most. */
  most: number;
  serverMs: number;
}

export const push: Scenario = {
  name: 'push',
  summary: 'a list of 10,000 devices (quick: 1,000) at APNs and FCM with 20 ms latency, vs. a bare HTTP/2 loop',
  async run({ quick }) {
    const size = quick ? 1_000 : 10_000;
    const { accounts, applePrivateKey, googlePrivateKey } = createAccounts();
    const [services, loop] = await Promise.all([
      openPeer('./peer-push.ts', { PUSH_ACCOUNTS: JSON.stringify(accounts) }),
      openPeer('./peer-push-loop.ts'),
    ]);
    const ports = await request<{ apns: number; fcm: number; signIn: number }>(services.peer, { ports: true });
    const urls = { apns: `https://localhost:${ports.apns}`, fcm: `https://localhost:${ports.fcm}` };
    const apns = {
      use: 'apns',
      team_id: accounts.teamId,
      key_id: accounts.keyId,
      private_key: applePrivateKey,
      bundle_id: accounts.bundleId,
      endpoint: urls.apns,
      max_in_flight: maxInFlight,
    };
    const service_account = JSON.stringify({
      project_id: accounts.projectId,
      client_email: 'bench@bench.iam.gserviceaccount.com',
      private_key: googlePrivateKey,
      token_uri: `http://127.0.0.1:${ports.signIn}/token`,
    });
    const fcm = { use: 'fcm', service_account, endpoint: urls.fcm, max_in_flight: maxInFlight };
    const channel = { slug: 'push', name: 'Push', type: 'push', providers: [apns, fcm] };
    const distribution_lists = [{ name: 'all' }, { name: 'few' }];
    const folder = await mkdtemp(path.join(tmpdir(), 'belfry-bench-ca-'));
    const ca = path.join(folder, 'ca.pem');
    await writeFile(ca, certificate);
    const stage = await openStage([channel], [event('all'), event('few')], { distribution_lists });
    try {
      await addDevices(stage.sql, 'all', size);
      await addDevices(stage.sql, 'few', warmUp);
      const api = await stage.start('api');
      const worker = await stage.start('worker', { NODE_EXTRA_CA_CERTS: ca });
      const used = async () => ({
        service: (await cpuMs(api)) + (await cpuMs(worker)),
        database: await postgresCpuMs(stage.sql),
      });
      const campaign = async (list = 'all', devices = size): Promise<Sent> => {
        await enableDevices(stage.sql);
        const before = await used();
        const perSecond = await runFanOut(stage, api.address, list, devices, { sent: devices - goneOf(devices) });
        const cpu = cpuPerItem(await used(), before, devices);
        const disabled = await countDisabled(stage.sql);
        if (disabled !== goneOf(devices)) throw new Error(`${disabled} of ${goneOf(devices)} devices were disabled`);
        return { perSecond, cpu, ...(await tally(services.peer, devices)) };
      };
      const bare = async (devices = size): Promise<Sent> => {
        const messages = devices / 2;
        const order: PushOrder = { urls, accounts, applePrivateKey, messages, concurrency: maxInFlight };
        const done = await request<{ perSecond: number; cpuMs: number }>(loop.peer, order);
        const cpu = cpuPerItem({ service: done.cpuMs }, { service: 0 }, devices);
        return { perSecond: done.perSecond, cpu, ...(await tally(services.peer, devices)) };
      };
      await campaign('few', warmUp);
      await bare(warmUp);
      const [ours, theirs] = await alternate([() => campaign(), () => bare()], quick ? 1 : 5);
      const { measured, spread } = medianRound(ours!, theirs!);
      const [own, other] = measured;
      const { service, database } = own.cpu as { service: number; database: number };
      const rows: Row[] = [
        {
          measure: `push messages to ${size.toLocaleString('en')} devices`,
          value: own.perSecond,
          unit: 'messages/s',
          baseline: other.perSecond,
          limit: { of: 'ratio', min: 0.8 },
          note:
            `${spread}; up to ${own.most} requests in flight at each service; ` +
            `the services use ${Math.round((own.serverMs * 1_000) / size)} µs of CPU time each`,
        },
        {
          measure: 'CPU time of the service per push message',
          value: service,
          unit: 'µs',
          baseline: other.cpu.service!,
          note: `PostgreSQL ${Math.round(database)} µs`,
        },
      ];
      return rows;
    } finally {
      loop.peer.disconnect();
      await stage.close();
      services.peer.disconnect();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

function event(slug: string) {
  const message = { subject: 'Hello {{ user.first_name }}', body: 'Order {{ n }} is on its way.' };
  const notification = { name: slug, recipients: { list: slug }, channels: ['push'], message };
  return { slug, name: slug, notifications: [notification] };
}

/** Every fiftieth device of each service is gone. */
function goneOf(devices: number): number {
  return 2 * Math.floor(devices / 2 / 50);
}

/** Creates users with one device each, at APNs and FCM in turn, and adds them to the list. */
async function addDevices(sql: pg.Client, list: string, size: number): Promise<void> {
  const devices = Array.from({ length: size }, (_, i) => {
    const service = i % 2 === 0 ? 'apns' : 'fcm';
    const token = tokenOf(service, Math.floor(i / 2) + 1);
    return JSON.stringify({ platform: service === 'apns' ? 'ios' : 'android', app: 'com.acme.shop', token });
  });
  await sql.query(
    `with org as (
       select id as organization_id from organizations where slug = 'bench'
     ), list as (
       select l.organization_id, l.id from distribution_lists l join org using (organization_id) where l.name = $1
     ), made as (
       insert into users (organization_id, username, email, first_name)
       select organization_id, $1 || i || '@x.test', $1 || i || '@x.test', 'Ann'
       from org, generate_series(1, cardinality($2::text[])) i
       returning organization_id, id, username
     ), reached as (
       insert into addresses (organization_id, user_id, name, value)
       select organization_id, id, 'push', d.value from made
       join unnest($2::text[]) with ordinality d (value, i) on username = $1 || d.i || '@x.test'
       returning organization_id, id
     )
     insert into members (organization_id, list_id, address_id)
     select list.organization_id, list.id, reached.id from list join reached using (organization_id)`,
    [list, devices],
  );
  await sql.query('vacuum analyze');
}

/** Every round starts with all devices. */
async function enableDevices(sql: pg.Client): Promise<void> {
  await sql.query('update addresses set disabled_at = null, disabled_reason = null where disabled_at is not null');
}

async function countDisabled(sql: pg.Client): Promise<number> {
  const { rows } = await sql.query<{ n: number }>(
    'select count(*)::int as n from addresses where disabled_at is not null',
  );
  return rows[0]!.n;
}

/** Returns what arrived since the last call, which must be one valid message for each device. */
async function tally(peer: ChildProcess, size: number): Promise<Pick<Sent, 'most' | 'serverMs'>> {
  interface Tally {
    accepted: number;
    gone: number;
    devices: number;
    malformed: string[];
    maxInFlight: number;
    cpuMs: number;
  }
  const { accepted, gone, devices, malformed, maxInFlight: most, cpuMs } = await request<Tally>(peer, {});
  if (malformed.length > 0) throw new Error(`the services refused messages: ${malformed.join(', ')}`);
  if (accepted + gone !== size || devices !== size || gone !== goneOf(size)) {
    throw new Error(`the services got ${accepted} and ${gone} messages for ${devices} of ${size} devices`);
  }
  return { most, serverMs: cpuMs };
}

async function request<Response>(peer: ChildProcess, message: object): Promise<Response> {
  peer.send(message);
  const [response] = await once(peer, 'message');
  return response as Response;
}
