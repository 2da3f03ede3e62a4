/** Compliance cases of mobile push, with the requests and responses of Firebase and Apple. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { apns } from '../../src/providers/push/apns.ts';
import { fcm } from '../../src/providers/push/fcm.ts';
import { fcmError } from './answers/push.ts';
import { type ComplianceCase, exampleId as id, json } from './compliance.ts';

const pem = (key: ReturnType<typeof generateKeyPairSync>['privateKey']) =>
  (key as unknown as { export(options: object): string }).export({ type: 'pkcs8', format: 'pem' });

export const google = generateKeyPairSync('rsa', { modulusLength: 2048 });
export const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' });
export const appleKey = pem(apple.privateKey);

/** A token endpoint like those of Google and Microsoft, apart from the server of the suite, which counts messages only. */
const signIn = createServer((request, response) => {
  request.resume();
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ access_token: 'hush-access', expires_in: 3599, token_type: 'Bearer' }));
});
signIn.listen(0, '127.0.0.1').unref();
await once(signIn, 'listening');
export const signInUrl = `http://127.0.0.1:${(signIn.address() as AddressInfo).port}/token`;

export const serviceAccount = (tokenUri = signInUrl) =>
  JSON.stringify({
    type: 'service_account',
    project_id: 'acme-7',
    private_key: pem(google.privateKey),
    client_email: 'belfry@acme-7.iam.gserviceaccount.com',
    token_uri: tokenUri,
  });

export const appleToken = 'ab'.repeat(32);
export const deviceOf = (token: string, app = 'com.acme.shop') => JSON.stringify({ platform: 'android', app, token });
const apnsError = (status: number, reason: string) => json(status, { reason });
export const pushCases = {
  fcm: {
    provider: fcm,
    settings: url => ({ service_account: serviceAccount(), sound: 'bell', ttl_seconds: 60, endpoint: url }),
    address: deviceOf('fcm:hush_device-token'),
    secrets: ['hush-access', 'fcm:hush_device-token'],
    answers: {
      accepted: json(200, { name: 'projects/acme-7/messages/0:1500415314455276' }),
      id: 'projects/acme-7/messages/0:1500415314455276',
      refused: words => fcmError(403, 'SENDER_ID_MISMATCH', words),
      denied: json(401, { error: { code: 401, message: 'no', status: 'UNAUTHENTICATED' } }),
      checked: null,
    },
    request: {
      path: '/v1/projects/acme-7/messages:send',
      headers: { authorization: 'Bearer hush-access', 'content-type': 'application/json' },
      body: {
        message: {
          token: 'fcm:hush_device-token',
          notification: { title: 'Order 7 is paid', body: 'Hello Jane' },
          data: { belfry_id: id },
          android: { priority: 'HIGH', ttl: '60s', notification: { sound: 'bell', tag: id } },
          apns: { headers: { 'apns-priority': '10', 'apns-collapse-id': id }, payload: { aps: { sound: 'bell' } } },
          webpush: { headers: { TTL: '60' } },
        },
      },
    },
  } satisfies ComplianceCase<typeof fcm.settings>,

  apns: {
    provider: apns,
    settings: url => ({
      team_id: 'A1B2C3D4E5',
      key_id: 'F6G7H8I9J0',
      private_key: appleKey,
      bundle_id: 'com.acme.shop',
      ttl_seconds: 60,
      endpoint: url,
    }),
    address: deviceOf(appleToken),
    secrets: [appleToken],
    answers: {
      accepted: { status: 200, headers: { 'apns-id': 'eabeae54-14a8-11e5-b60b-1697f925ec7b' } },
      id: 'eabeae54-14a8-11e5-b60b-1697f925ec7b',
      refused: words => apnsError(400, words),
      denied: apnsError(403, 'InvalidProviderToken'),
    },
    request: {
      path: `/3/device/${appleToken}`,
      headers: {
        'content-type': 'application/json',
        'apns-topic': 'com.acme.shop',
        'apns-push-type': 'alert',
        'apns-priority': '10',
        'apns-collapse-id': id,
        'apns-expiration': '1893553505',
      },
      body: { belfry_id: id, aps: { alert: { title: 'Order 7 is paid', body: 'Hello Jane' }, sound: 'default' } },
    },
  } satisfies ComplianceCase<typeof apns.settings>,
};
