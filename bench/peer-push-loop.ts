/** The minimum for push messages: node:http2 with prebuilt messages and one connection to each service. Nothing is recorded. */
import { sign } from 'node:crypto';
import { Agent } from 'undici';
import { certificate } from '../test/support/certificate.ts';
import { accessToken, type PushAccounts, tokenOf } from './push-accounts.ts';

export interface PushOrder {
  urls: { apns: string; fcm: string };
  accounts: PushAccounts;
  applePrivateKey: string;
  /** Messages to each of the two services. */
  messages: number;
  /** Messages in flight on each of the two connections. */
  concurrency: number;
}

type Request = (n: number) => { path: string; headers: Record<string, string>; body: string };

async function send(order: PushOrder): Promise<void> {
  const { urls, messages, concurrency } = order;
  const services: [string, Request][] = [
    [urls.apns, toApns(order)],
    [urls.fcm, toFcm(order)],
  ];
  const agent = new Agent({ allowH2: true, connect: { ca: certificate } });
  await Promise.all(
    services.map(async ([url, requestOf]) => {
      let next = 1;
      const one = async () => {
        for (let n = next++; n <= messages; n = next++) await exchange(agent, url, requestOf(n));
      };
      await Promise.all(Array.from({ length: concurrency }, one));
    }),
  );
  await agent.close();
}

/** Reads the whole response: without its text, a service would not be understood. */
async function exchange(agent: Agent, origin: string, { path, headers, body }: ReturnType<Request>): Promise<string> {
  const response = await agent.request({ origin, path, method: 'POST', headers, body });
  return response.body.text();
}

function toApns({ accounts: { keyId, teamId, bundleId }, applePrivateKey }: PushOrder): Request {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${encode({ alg: 'ES256', kid: keyId })}.${encode({ iss: teamId, iat: Math.floor(Date.now() / 1_000) })}`;
  const signature = sign('sha256', Buffer.from(signed), { key: applePrivateKey, dsaEncoding: 'ieee-p1363' });
  const common = {
    'content-type': 'application/json',
    authorization: `bearer ${signed}.${signature.toString('base64url')}`,
    'apns-topic': bundleId,
    'apns-push-type': 'alert',
    'apns-priority': '10',
  };
  const body = JSON.stringify({
    aps: { alert: { title: 'Hello Ann', body: 'Order 7 is on its way.' }, sound: 'default' },
  });
  return n => ({
    path: `/3/device/${tokenOf('apns', n)}`,
    headers: { ...common, 'apns-collapse-id': `n-${n}` },
    body,
  });
}

function toFcm({ accounts: { projectId } }: PushOrder): Request {
  const path = `/v1/projects/${projectId}/messages:send`;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` };
  const notification = { title: 'Hello Ann', body: 'Order 7 is on its way.' };
  return n => ({ path, headers, body: JSON.stringify({ message: { token: tokenOf('fcm', n), notification } }) });
}

process.stdout.write('0\n');
process.on('message', async (order: PushOrder) => {
  const before = process.cpuUsage();
  const began = performance.now();
  await send(order);
  const seconds = (performance.now() - began) / 1_000;
  const { user, system } = process.cpuUsage(before);
  process.send?.({ perSecond: (2 * order.messages) / seconds, cpuMs: (user + system) / 1_000 });
});
process.on('disconnect', () => process.exit(0));
