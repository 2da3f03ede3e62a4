/** Mobile push: options of a message, tokens of the sender, and many streams on one connection. */
import { jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { certificate } from '../support/certificate.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { apple, appleToken, deviceOf, google, pushCases, serviceAccount } from '../support/compliance-push.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { openHttpPeer, type RecordedRequest } from '../support/http-peer.ts';
import { render } from '../support/render.ts';
import { json, openWire } from '../support/wire.ts';

const { fcm, apns } = pushCases;
const wire = openWire();
const bodyOf = (seen: RecordedRequest) => JSON.parse(seen.body);
const options = {
  title: 'Paid',
  body: 'Order 7',
  image: 'https://a.test/i.png',
  badge: 3,
  sound: 'coin',
  collapse_key: 'order-7',
  ttl_seconds: 90,
  priority: 'normal',
  data: { order: 7, url: 'https://a.test/7' },
};

describe('a push message', () => {
  it('has the options that its author wrote as JSON, the picture and the buttons', () => {
    const actions = [{ name: 'open', label: 'Open', url: 'https://a.test/{{ id }}' }];
    const { data, avatar, ...content } = render(
      { body: '{"title": "{{ t }}", "badge": {{ n }} }', avatar: 'https://a.test/i.png', actions },
      { medium: 'push', scope: { t: 'a"b', n: 2, id: 7 } },
    );
    expect([data, avatar]).toEqual([{ title: 'a"b', badge: 2 }, 'https://a.test/i.png']);
    expect(content.actions).toMatchObject([{ label: 'Open', url: 'https://a.test/7' }]);
  });

  it('carries all options to FCM', async () => {
    const { seen } = await wire.send(fcm, { content: { data: options } });
    expect(bodyOf(seen).message).toEqual({
      token: 'fcm:hush_device-token',
      notification: { title: 'Paid', body: 'Order 7', image: 'https://a.test/i.png' },
      data: { order: '7', url: 'https://a.test/7', belfry_id: exampleOutgoing().id },
      android: {
        collapse_key: 'order-7',
        priority: 'NORMAL',
        ttl: '90s',
        notification: { sound: 'coin', notification_count: 3, tag: 'order-7' },
      },
      apns: {
        headers: { 'apns-priority': '5', 'apns-collapse-id': 'order-7' },
        payload: { aps: { badge: 3, sound: 'coin' } },
      },
      webpush: { headers: { TTL: '90' } },
    });
  });

  it('carries all options to APNs', async () => {
    const { seen } = await wire.send(apns, { content: { data: options } });
    expect(seen.headers).toMatchObject({ 'apns-priority': '5', 'apns-collapse-id': 'order-7' });
    expect(seen.headers['apns-expiration']).toBe(String(1893553445 + 90));
    expect(bodyOf(seen)).toEqual({
      order: '7',
      url: 'https://a.test/7',
      belfry_id: exampleOutgoing().id,
      image: 'https://a.test/i.png',
      aps: { alert: { title: 'Paid', body: 'Order 7' }, badge: 3, sound: 'coin', 'mutable-content': 1 },
    });
  });

  it('that is silent shows nothing', async () => {
    const content = { data: { silent: true, data: { sync: 'orders' } } };
    const { message } = bodyOf((await wire.send(fcm, { content })).seen);
    expect(message).not.toHaveProperty('notification');
    expect(message.data.sync).toBe('orders');
    expect(message.apns.payload.aps).toEqual({ 'content-available': 1 });
    const { seen } = await wire.send(apns, { content });
    expect(seen.headers).toMatchObject({ 'apns-push-type': 'background', 'apns-priority': '5' });
    expect(bodyOf(seen).aps).toEqual({ 'content-available': 1 });
  });

  it('ignores options of a wrong type', async () => {
    const data = { title: 7, badge: -1, ttl_seconds: 'x', priority: 'urgent', silent: 'yes', data: [1], image: {} };
    const { message } = bodyOf((await wire.send(fcm, { content: { data } })).seen);
    expect(message.notification).toEqual({ title: 'Order 7 is paid', body: '' });
    expect(message.android).toMatchObject({ priority: 'HIGH', ttl: '60s' });
  });

  it('is shortened to what fits into 4 KB, and refused if that is not enough', async () => {
    for (const suite of [fcm, apns] as const) {
      const long = await wire.send(suite as typeof fcm, { content: { text: 'ü'.repeat(5_000) } });
      expect(long.outcome.ok).toBe(true);
      expect(Buffer.byteLength(long.seen.body)).toBeLessThanOrEqual(4_096);
      const huge = await wire.send(suite as typeof fcm, { content: { data: { data: { x: 'x'.repeat(5_000) } } } });
      expect(huge.outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('4 KB') });
      expect(huge.all).toEqual([]);
    }
  });

  it('is read by ntfy, Gotify and Pushover too', async () => {
    const { ntfy, gotify, pushover } = serviceCases;
    for (const suite of [ntfy, gotify, pushover]) {
      const { seen } = await wire.send(suite as typeof ntfy, { content: { data: options, text: '{…}' } });
      expect(bodyOf(seen)).toMatchObject({ title: 'Paid', message: 'Order 7' });
    }
  });
});

describe('an urgent message', () => {
  const urgent = { urgent: true } as const;
  const apsOf = async (settings: object, outgoing: object, content: object = {}) =>
    bodyOf((await wire.send(apns, { settings, outgoing, content })).seen).aps;

  it('is time-sensitive on devices of Apple, and critical only if the settings allow it', async () => {
    const alert = { title: 'Order 7 is paid', body: 'Hello Jane' };
    expect(await apsOf({}, urgent)).toEqual({ alert, sound: 'default', 'interruption-level': 'time-sensitive' });
    expect(await apsOf({ alarm_sound: 'siren.caf' }, urgent)).toMatchObject({ sound: 'siren.caf' });
    expect(await apsOf({ alarm_sound: 'siren.caf' }, {})).toEqual({ alert, sound: 'default' });
    const critical = { critical_alerts: true, alarm_sound: 'siren.caf', critical_volume: 0.5 };
    expect(await apsOf(critical, urgent)).toEqual({
      alert,
      sound: { critical: 1, name: 'siren.caf', volume: 0.5 },
      'interruption-level': 'critical',
    });
    expect(await apsOf({ critical_alerts: true }, urgent)).toMatchObject({
      sound: { critical: 1, name: 'default', volume: 1 },
    });
    expect(await apsOf(critical, {})).toEqual({ alert, sound: 'default' });
  });

  it('has the level and the sound of its author, but is not critical without permission', async () => {
    const data = { title: 'T', interruption_level: 'passive', sound: 'coin' };
    expect(await apsOf({ critical_alerts: true }, urgent, { data })).toMatchObject({
      sound: 'coin',
      'interruption-level': 'passive',
    });
    const critical = { data: { title: 'T', interruption_level: 'critical' } };
    expect(await apsOf({}, {}, critical)).toMatchObject({ 'interruption-level': 'time-sensitive', sound: 'default' });
    expect(await apsOf({ critical_alerts: true }, {}, critical)).toMatchObject({ 'interruption-level': 'critical' });
    const unknown = { data: { title: 'T', interruption_level: 'loud' } };
    expect(await apsOf({}, {}, unknown)).not.toHaveProperty('interruption-level');
    expect(await apsOf({ critical_alerts: true }, urgent, { data: { silent: true } })).toEqual({
      'content-available': 1,
    });
  });

  it('goes to the Android channel of alarms, and critical to devices of Apple that use Firebase', async () => {
    const settings = {
      channel_id: 'messages',
      alarm_channel_id: 'alarms',
      alarm_sound: 'siren',
      critical_alerts: true,
    };
    const messageOf = async (outgoing: object, changes: object = settings, content: object = {}) =>
      bodyOf((await wire.send(fcm, { settings: changes, outgoing, content })).seen).message;
    const { android, apns: apple } = await messageOf(urgent);
    expect(android).toMatchObject({
      priority: 'HIGH',
      notification: { channel_id: 'alarms', notification_priority: 'PRIORITY_MAX', sound: 'siren' },
    });
    expect(apple).toEqual({
      headers: { 'apns-priority': '10', 'apns-collapse-id': exampleOutgoing().id },
      payload: { aps: { sound: { critical: 1, name: 'siren', volume: 1 }, 'interruption-level': 'critical' } },
    });
    const usual = (await messageOf({})).android.notification;
    expect(usual).toMatchObject({ channel_id: 'messages', sound: 'bell' });
    expect(usual).not.toHaveProperty('notification_priority');
    const plain = await messageOf(urgent, { channel_id: 'messages' });
    expect(plain.android.notification).toMatchObject({ channel_id: 'messages', sound: 'bell' });
    expect(plain.apns.payload.aps).toEqual({ sound: 'bell', 'interruption-level': 'time-sensitive' });
    const data = { title: 'T', channel: 'orders' };
    expect((await messageOf(urgent, settings, { data })).android.notification).toMatchObject({ channel_id: 'orders' });
  });

  it('is changed without another alarm', async () => {
    const settings = { channel_id: 'messages', alarm_channel_id: 'alarms' };
    const outgoing = wire.toOutgoing(fcm, { outgoing: urgent });
    wire.peer().reply = fcm.answers.accepted;
    wire.peer().seen.length = 0;
    const sender = wire.open(fcm, settings);
    await sender.update!({ ...outgoing, messageId: 'x', note: 'n', change: 'acknowledged' });
    await sender.close();
    const { android, apns: apple } = bodyOf(wire.peer().seen[0]!).message;
    expect(android).toMatchObject({ priority: 'NORMAL', notification: { channel_id: 'messages' } });
    expect(android.notification).not.toHaveProperty('notification_priority');
    expect(apple.payload.aps).toEqual({ 'interruption-level': 'passive' });
  });
});

describe('a device', () => {
  it.each([
    [deviceOf('fcm:x'), ['fcm']],
    [deviceOf(appleToken), ['apns']],
    [deviceOf(appleToken, 'com.acme.other'), []],
    ['topic-7', ['ntfy']],
    ['u'.repeat(30), ['ntfy', 'pushover']],
    ['{"token":"x"}', []],
  ])('%s is left to the providers that can reach it', (address, names) => {
    const all = { ...pushCases, ntfy: serviceCases.ntfy, pushover: serviceCases.pushover };
    const able = Object.entries(all).filter(([, { provider, settings }]) =>
      provider.accepts!(address, settings('https://a.test') as never),
    );
    expect(able.map(([name]) => name)).toEqual(names);
  });

  it('that is not one is given up without a request', async () => {
    for (const suite of [fcm, apns] as const) {
      const { outcome, all } = await wire.send(suite as typeof fcm, { outgoing: { address: 'x' } });
      expect([outcome, all]).toMatchObject([{ ok: false, retry: false, gone: true }, []]);
    }
  });
});

it('has as many requests in flight as its settings allow, by default 200', () => {
  for (const suite of [fcm, apns] as const) {
    expect(wire.open(suite as typeof fcm).maxConcurrent).toBe(200);
    expect(wire.open(suite as typeof fcm, { max_in_flight: 900 }).maxConcurrent).toBe(900);
  }
});

describe('the access token of FCM', () => {
  const isSignIn = ({ path }: RecordedRequest) => path === '/token';
  const open = () => {
    const { url } = wire.peer();
    return wire.open(fcm, { service_account: serviceAccount(`${url}/token`) });
  };
  const send = (sender: ReturnType<typeof open>) => sender.send(exampleOutgoing({ address: deviceOf('fcm:x') }));
  const grant = (expires_in: number) => json(200, { access_token: 'hush-access', expires_in, token_type: 'Bearer' });

  it('is requested with an assertion of the service account, once for many messages', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    peer.reply = seen => (isSignIn(seen) ? grant(3599) : fcm.answers.accepted);
    const sender = open();
    await Promise.all(Array.from({ length: 20 }, () => send(sender)));
    await send(sender);
    const [first, ...others] = peer.seen.filter(isSignIn);
    expect(others).toEqual([]);
    const form = new URLSearchParams(first!.body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload } = await jwtVerify(form.get('assertion')!, google.publicKey, { algorithms: ['RS256'] });
    expect(payload).toMatchObject({
      iss: 'belfry@acme-7.iam.gserviceaccount.com',
      aud: `${peer.url}/token`,
      scope: 'https://www.googleapis.com/auth/firebase.messaging',
      exp: payload.iat! + 3600,
    });
  });

  it('is requested again after Google refused it, and after a failed request', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    peer.reply = seen =>
      isSignIn(seen) ? grant(3599) : { status: 401, body: '{"error":{"status":"UNAUTHENTICATED"}}' };
    const sender = open();
    expect(await send(sender)).toMatchObject({ ok: false, denied: true });
    peer.reply = seen => (isSignIn(seen) ? { status: 503 } : fcm.answers.accepted);
    expect(await send(sender)).toMatchObject({ ok: false, retry: true, reason: 'signing in to Google: 503' });
    peer.reply = seen => (isSignIn(seen) ? grant(3599) : fcm.answers.accepted);
    expect(await send(sender)).toMatchObject({ ok: true });
    expect(peer.seen.filter(isSignIn)).toHaveLength(3);
  });

  it('is explained if the account was deleted, or is not one', async () => {
    const peer = wire.peer();
    peer.reply = json(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' });
    expect(await send(open())).toMatchObject({
      denied: true,
      reason: 'signing in to Google: 400: Invalid JWT Signature.',
    });
    const { outcome } = await wire.send(fcm, { settings: { service_account: '{"type":"user"}' } });
    expect(outcome).toMatchObject({ ok: false, denied: true, reason: expect.stringContaining('service_account') });
  });

  it('shows whether the account is valid, without a message', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    const ask = (account: string) => {
      const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
      const settings = { ...fcm.settings(peer.url), service_account: account };
      return fcm.provider.check!(settings, { outbound }).finally(() => outbound.close());
    };
    peer.reply = grant(3599);
    expect(await ask(serviceAccount(`${peer.url}/token`))).toEqual({ ok: true });
    peer.reply = json(400, { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' });
    expect(await ask(serviceAccount(`${peer.url}/token`))).toMatchObject({ ok: false, denied: true });
    expect(await ask('{}')).toMatchObject({ ok: false, denied: true });
    expect(peer.seen.map(({ path }) => path)).toEqual(['/token', '/token']);
  });

  it('never leaves a lost response unknown: nothing was sent yet', async () => {
    const peer = wire.peer();
    peer.reply = 'drop';
    expect(await send(open())).not.toHaveProperty('unknown');
  });
});

describe('APNs', () => {
  it('is authenticated by a token of the team, the same for many messages', async () => {
    const peer = wire.peer();
    peer.seen.length = 0;
    peer.reply = apns.answers.accepted;
    const sender = wire.open(apns);
    const outgoing = exampleOutgoing({ address: apns.address });
    await Promise.all([sender.send(outgoing), sender.send(outgoing)]);
    const tokens = peer.seen.map(({ headers }) => headers.authorization!.replace(/^bearer /, ''));
    expect(new Set(tokens).size).toBe(1);
    const { payload, protectedHeader } = await jwtVerify(tokens[0]!, apple.publicKey, { algorithms: ['ES256'] });
    expect(payload).toEqual({ iss: 'A1B2C3D4E5', iat: expect.any(Number) });
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'F6G7H8I9J0' });
  });

  it('says so if the key is not one', async () => {
    const private_key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----';
    const { outcome } = await wire.send(apns, { settings: { private_key } });
    expect(outcome).toMatchObject({ ok: false, denied: true, reason: expect.stringContaining('private_key') });
  });

  it('never gets messages of two teams on one connection, which it would refuse', async () => {
    const peer = await openHttpPeer(apns.answers.accepted, { protocol: 'http2' });
    const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'], ca: certificate });
    for (const team_id of ['A1B2C3D4E5', 'Z1B2C3D4E5', 'A1B2C3D4E5']) {
      const sender = apns.provider.open({ ...apns.settings(peer.url), team_id }, { outbound });
      expect(await sender.send(exampleOutgoing({ address: apns.address }))).toMatchObject({ ok: true });
    }
    expect([peer.seen.length, peer.connections]).toEqual([3, 2]);
    await outbound.close();
    await peer.close();
  });

  it('gets many messages as streams of one HTTP/2 connection', async () => {
    const peer = await openHttpPeer(apns.answers.accepted, { protocol: 'http2' });
    const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'], ca: certificate });
    const sender = apns.provider.open(apns.settings(peer.url), { outbound });
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, n) => sender.send(exampleOutgoing({ id: `n-${n}`, address: apns.address }))),
    );
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    expect([peer.seen.length, peer.connections]).toEqual([300, 1]);
    await outbound.close();
    await peer.close();
  });
});
