/**
 * APNs and FCM as strict local services: HTTP/2 over TLS, 20 ms for every response, and every fiftieth device is gone. A
 * request that differs from the documentation is refused and counted, so that no figure comes from work that was not done.
 */
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { certificate, certificateKey } from '../test/support/certificate.ts';
import { accessToken, type PushAccounts } from './push-accounts.ts';

const latencyMs = 20;
const maxConcurrentStreams = 100;

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

const accounts = JSON.parse(process.env.PUSH_ACCOUNTS!) as PushAccounts;
let [accepted, gone, malformed] = [new Map<string, number>(), new Map<string, number>(), [] as string[]];
let began = process.cpuUsage();
let maxInFlight = 0;

/** Every fiftieth number. */
const isGone = (token: string) => Number(/\d+$/.exec(token)?.[0]) % 50 === 0;

function record(token: string): boolean {
  const counts = isGone(token) ? gone : accepted;
  counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts === accepted;
}

function refuse(reason: string): Answer {
  if (malformed.length < 5) malformed.push(reason);
  return { status: 400, body: { reason } };
}

/** https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns */
function apns(headers: IncomingHttpHeaders, body: string): Answer {
  const token = /^\/3\/device\/([0-9a-f]{64})$/.exec(headers[':path'] ?? '')?.[1];
  if (!token) return refuse(`path ${headers[':path']}`);
  if (!isSignedByTeam(headers.authorization ?? '')) return refuse('authorization');
  if (headers['apns-topic'] !== accounts.bundleId) return refuse('apns-topic');
  if (headers['apns-push-type'] !== 'alert' || headers['apns-priority'] !== '10') return refuse('type or priority');
  if (Buffer.byteLength(String(headers['apns-collapse-id'] ?? '')) > 64) return refuse('apns-collapse-id');
  const { alert } = (JSON.parse(body) as { aps: { alert: Record<string, unknown> } }).aps;
  if (typeof alert.title !== 'string' || typeof alert.body !== 'string') return refuse('alert');
  if (record(token)) return { status: 200, headers: { 'apns-id': token.slice(0, 32) } };
  return Number(token) % 100 === 0
    ? { status: 410, body: { reason: 'Unregistered', timestamp: 1_700_000_000_000 } }
    : { status: 400, body: { reason: 'BadDeviceToken' } };
}

/** Signatures that were verified, because a sender uses the same token for up to an hour. */
const verified = new Set<string>();

function isSignedByTeam(authorization: string): boolean {
  if (verified.has(authorization)) return true;
  const [header = '', payload = '', signature = ''] = authorization.replace(/^bearer /, '').split('.');
  const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  const { iss, iat } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const key = { key: createPublicKey(accounts.applePublicKey), dsaEncoding: 'ieee-p1363' as const };
  const isValid = verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'));
  if (!isValid || alg !== 'ES256' || kid !== accounts.keyId || iss !== accounts.teamId) return false;
  if (Math.abs(Date.now() / 1_000 - iat) > 3_600) return false;
  verified.add(authorization);
  return true;
}

/** https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send */
function fcm(headers: IncomingHttpHeaders, body: string): Answer {
  if (headers[':path'] !== `/v1/projects/${accounts.projectId}/messages:send`)
    return refuse(`path ${headers[':path']}`);
  if (headers.authorization !== `Bearer ${accessToken}`) return refuse('authorization');
  if (!headers['content-type']?.startsWith('application/json')) return refuse('content-type');
  const { message } = JSON.parse(body);
  if (typeof message.token !== 'string' || typeof message.notification?.title !== 'string') return refuse('message');
  if (!Object.values(message.data ?? {}).every(value => typeof value === 'string')) return refuse('data');
  if (record(message.token)) {
    return { status: 200, body: { name: `projects/${accounts.projectId}/messages/${message.token}` } };
  }
  const details = [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode: 'UNREGISTERED' }];
  const text = 'Requested entity was not found.';
  return { status: 404, body: { error: { code: 404, message: text, status: 'NOT_FOUND', details } } };
}

async function serve(judge: (headers: IncomingHttpHeaders, body: string) => Answer): Promise<number> {
  let inFlight = 0;
  const settings = { maxConcurrentStreams };
  const server = createSecureServer({ cert: certificate, key: certificateKey, settings });
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    maxInFlight = Math.max(maxInFlight, ++inFlight);
    let body = '';
    stream.setEncoding('utf8').on('data', chunk => {
      body += chunk;
    });
    stream.on('error', () => {}).on('close', () => inFlight--);
    stream.on('end', () => {
      const {
        status,
        headers: more,
        body: json,
      } = headers[':method'] === 'POST' ? judge(headers, body) : refuse('method');
      setTimeout(() => {
        if (stream.destroyed) return;
        const type = json === undefined ? {} : { 'content-type': 'application/json' };
        stream.respond({ ':status': status, ...type, ...more }, { endStream: json === undefined });
        if (json !== undefined) stream.end(JSON.stringify(json));
      }, latencyMs);
    });
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Google's sign-in, which speaks HTTP/1.1. */
const signIn = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ access_token: accessToken, expires_in: 3_599, token_type: 'Bearer' }));
});
signIn.listen(0, '127.0.0.1');
await once(signIn, 'listening');
const ports = { apns: await serve(apns), fcm: await serve(fcm), signIn: (signIn.address() as AddressInfo).port };
process.stdout.write(`${ports.apns}\n`);

/** A message is a request for the ports, or for the totals since the previous one. */
process.on('message', (request: { ports?: true }) => {
  if (request.ports) {
    process.send?.(ports);
    return;
  }
  const { user, system } = process.cpuUsage(began);
  const total = (counts: Map<string, number>) => [...counts.values()].reduce((sum, count) => sum + count, 0);
  process.send?.({
    accepted: total(accepted),
    gone: total(gone),
    devices: accepted.size + gone.size,
    malformed,
    maxInFlight,
    cpuMs: (user + system) / 1_000,
  });
  [accepted, gone, malformed] = [new Map(), new Map(), []];
  maxInFlight = 0;
  began = process.cpuUsage();
});
process.on('disconnect', () => process.exit(0));
