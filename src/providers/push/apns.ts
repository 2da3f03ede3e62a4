/**
 * Apple Push Notification service, https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns.
 * Requests are streams of one HTTP/2 connection, signed with a token that is renewed every 40 minutes: Apple refuses tokens
 * that are older than an hour, and more than one in 20 minutes.
 */
import { importPKCS8, SignJWT } from 'jose';
import { type Static, Type } from 'typebox';
import { readDevice } from '../../core/audience/device.ts';
import { optionalInteger, optionalString } from '../../core/optional.ts';
import { type Renewal, RenewedValue } from '../../lib/caching/renewed-value.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { endpoint as apiEndpoint, join, TimeoutMs } from '../fields.ts';
import { type Failure, field, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import type { Outcome } from '../sending.ts';
import {
  type Addressed,
  type AlarmOptions,
  alarmSettings,
  defaultMaxInFlight,
  fitBody,
  MaxInFlight,
  makeQuiet,
  type PushMessage,
  toAppleAlarm,
  toPushMessage,
  withAlarm,
} from './message.ts';

const hosts = { production: 'https://api.push.apple.com', sandbox: 'https://api.sandbox.push.apple.com' } as const;

const appleId = { pattern: '^[A-Z0-9]{10}$', patternHint: 'must be 10 letters and digits' } as const;

const Settings = settings({
  team_id: Type.String({ ...appleId, description: 'The ID of your team.', examples: ['A1B2C3D4E5'] }),
  key_id: Type.String({ ...appleId, description: 'The ID of the key.', examples: ['F6G7H8I9J0'] }),
  private_key: Type.String({
    secret: true,
    maxLength: 2048,
    pattern: '^-----BEGIN PRIVATE KEY-----[\\sA-Za-z0-9+/=]+-----END PRIVATE KEY-----\\s*$',
    patternHint: 'must be the content of the .p8 file, with its first and last line',
    description: 'The content of the .p8 file of the key.',
  }),
  bundle_id: Type.String({
    pattern: '^[A-Za-z0-9.-]{1,155}$',
    patternHint: 'must be letters, digits, dots and dashes',
    description: 'The bundle ID of the app. Only devices that registered for it get messages.',
    examples: ['com.acme.shop'],
  }),
  environment: Type.Optional(
    Type.Enum(['production', 'sandbox'], {
      description: 'sandbox for apps that Xcode installed, production for all others. Default: production.',
    }),
  ),
  ttl_seconds: optionalInteger({
    minimum: 0,
    maximum: 2_419_200,
    description: 'How long a message is kept for a device that is offline. Default: 2592000 at Apple’s discretion.',
  }),
  sound: optionalString({ minLength: 1, maxLength: 64, description: 'The sound to play. Default: default.' }),
  ...alarmSettings,
  endpoint: apiEndpoint('that of the environment', 'a proxy'),
  max_in_flight: MaxInFlight,
  timeout_ms: TimeoutMs,
});

/** Tokens are renewed five minutes before. */
const tokenLifetimeMs = 45 * 60_000;

/** A token of APNs is hexadecimal; a token of FCM never is. */
export function isAppleToken(token: string): boolean {
  return /^[0-9a-fA-F]{64,200}$/.test(token);
}

export const apns: Provider<typeof Settings> = {
  name: 'apns',
  title: 'Apple Push Notification service',
  medium: 'push',
  summary: 'Push notifications for iPhone, iPad and Mac.',
  settings: Settings,
  credential: {
    name: 'key',
    hint: 'check that key ID, team ID and .p8 file belong together, and that the key may be used for this app and environment',
    fields: ['team_id', 'key_id', 'private_key'],
  },
  shows: ['buttons', 'images'],
  updates: ['update'],
  accepts: (address, { bundle_id }) => {
    const device = readDevice(address);
    return device !== undefined && isAppleToken(device.token) && device.app === bundle_id;
  },
  open(options, { outbound }) {
    const { team_id, key_id, bundle_id, environment = 'production', ttl_seconds } = options;
    const alarm = { ...options, sound: options.sound ?? 'default' };
    const endpoint = options.endpoint ?? hosts[environment];
    const tokens = new RenewedValue(() => signToken(options));
    const post = async ({ id, address, content, createdAt, urgent }: Addressed, quiet = false): Promise<Outcome> => {
      const device = readDevice(address);
      if (!device || !isAppleToken(device.token)) {
        return { ok: false, retry: false, gone: true, reason: 'the address is not a device of APNs' };
      }
      const loud = withAlarm(toPushMessage(id, content), urgent, alarm);
      const push = quiet ? makeQuiet(loud) : loud;
      const body = fitBody(push.body, maxBytes.apns.body, text => serialize({ ...push, body: text }, alarm));
      if (!body) return { ok: false, retry: false, reason: 'the message is larger than 4 KB, the limit of APNs' };
      const found = await tokens.get();
      if ('failure' in found) return found.failure;
      const token = found.value;
      const ttl = push.ttlSeconds ?? ttl_seconds;
      const expiresAt = ttl === 0 ? 0 : Math.floor(createdAt.getTime() / 1000) + (ttl ?? 0);
      return sendHttp(outbound, {
        url: join(endpoint, `/3/device/${device.token}`),
        headers: {
          authorization: `bearer ${token}`,
          'content-type': 'application/json',
          'apns-topic': bundle_id,
          'apns-push-type': push.silent ? 'background' : 'alert',
          'apns-priority': push.silent || push.priority === 'normal' ? '5' : '10',
          // A message that is sent again replaces the first one.
          'apns-collapse-id': push.collapseKey ?? id.slice(0, 64),
          ...(ttl !== undefined && { 'apns-expiration': String(expiresAt) }),
        },
        body,
        timeoutMs: options.timeout_ms,
        http2: true,
        // APNs binds a connection to the team, the key and the apps of its first request.
        connection: `${team_id}/${key_id}/${bundle_id}`,
        secrets: [token, device.token],
        id: ({ headers }) => headers['apns-id'],
        errorText: field('reason'),
        classify: answer => {
          const failure = classify(answer);
          if (failure?.retry && answer.status === 403) tokens.forget(token);
          return failure;
        },
      });
    };
    return {
      maxConcurrent: options.max_in_flight ?? defaultMaxInFlight,
      close: async () => {},
      send: outgoing => post(outgoing),
      update: sent => post(sent, true),
    };
  },
};

type Account = Pick<Static<typeof Settings>, 'team_id' | 'key_id' | 'private_key'>;

async function signToken({ team_id, key_id, private_key }: Account): Promise<Renewal<string> | { failure: Failure }> {
  try {
    const key = await importPKCS8(private_key, 'ES256');
    const value = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: key_id })
      .setIssuer(team_id)
      .setIssuedAt(new Date(currentTime()))
      .sign(key);
    return { value, lifetimeMs: tokenLifetimeMs };
  } catch {
    return { failure: { ok: false, retry: false, denied: true, reason: 'private_key is not a key for ES256' } };
  }
}

function serialize(push: PushMessage, alarm: AlarmOptions): string {
  const { title, body, image, badge, silent, data } = push;
  const aps = silent
    ? { 'content-available': 1, badge }
    : {
        alert: { title, body },
        badge,
        ...toAppleAlarm(push, alarm),
        'mutable-content': image === undefined ? undefined : 1,
      };
  return JSON.stringify({ ...data, ...(image !== undefined && { image }), aps });
}

/** The device is gone. */
const goneReasons = new Set(['Unregistered', 'ExpiredToken']);
/** Apple gives this answer also for every device of the other environment. */
const badToken = 'BadDeviceToken';
const badTokenDoubt =
  'check that environment is that of the app: sandbox if Xcode installed it, production for all others';
/** The key, the team or the permission for the app is wrong. */
const deniedReasons = new Set([
  'InvalidProviderToken',
  'MissingProviderToken',
  'BadCertificate',
  'BadCertificateEnvironment',
  'BadEnvironmentKeyIdInToken',
  'UnrelatedKeyIdInToken',
  'Forbidden',
  'TopicDisallowed',
]);

/** https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status < 300) return undefined;
  const reason = pick(json, 'reason') ?? '';
  if (status === 410 || goneReasons.has(reason)) return { retry: false, gone: true };
  if (reason === badToken) return { retry: false, gone: true, doubt: badTokenDoubt };
  if (reason === 'ExpiredProviderToken' || reason === 'IdleTimeout') return { retry: true };
  // Too many messages to this device.
  if (reason === 'TooManyRequests') return { ofRecipient: true };
  return deniedReasons.has(reason) ? { retry: false, denied: true } : undefined;
}
