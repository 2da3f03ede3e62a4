/**
 * Firebase Cloud Messaging, https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages/send. A signed
 * assertion of the service account is exchanged for an access token, which lasts an hour.
 */
import { importPKCS8, SignJWT } from 'jose';
import { Type } from 'typebox';
import { readDevice } from '../../core/audience/device.ts';
import { isObject } from '../../core/json.ts';
import { optionalInteger, optionalString } from '../../core/optional.ts';
import { type Renewal, RenewedValue } from '../../lib/caching/renewed-value.ts';
import type { Outbound } from '../../lib/network/outbound.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import { type Failure, field, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import type { Outcome } from '../sending.ts';
import { isAppleToken } from './apns.ts';
import {
  type Addressed,
  type AlarmOptions,
  alarmSettings,
  defaultMaxInFlight,
  fitBody,
  isAlarm,
  MaxInFlight,
  makeQuiet,
  type PushMessage,
  toAppleAlarm,
  toPushMessage,
  withAlarm,
} from './message.ts';

/** The longest that Google accepts. */
const assertionMs = 3_600_000;
const defaultEndpoint = 'https://fcm.googleapis.com';

const channelId = { minLength: 1, maxLength: 255 } as const;

const Settings = settings({
  service_account: Type.String({
    secret: true,
    minLength: 2,
    maxLength: 8192,
    description: 'The JSON file with the private key of a service account of the Firebase project, as text.',
  }),
  app: optionalString({
    minLength: 1,
    maxLength: 255,
    description: 'Only devices that registered for this app, such as com.acme.shop. Default: all of the project.',
  }),
  ttl_seconds: optionalInteger({
    minimum: 0,
    maximum: 2_419_200,
    description: 'How long a message is kept for a device that is offline. Default: 2419200 (four weeks).',
  }),
  sound: optionalString({ minLength: 1, maxLength: 64, description: 'The sound to play. Default: none.' }),
  channel_id: optionalString({
    ...channelId,
    title: 'Android channel',
    description: 'The Android notification channel of messages, as the app named it. Default: that of its manifest.',
    examples: ['messages'],
  }),
  alarm_channel_id: optionalString({
    ...channelId,
    title: 'Android channel of alarms',
    description:
      'The Android notification channel of urgent messages: the app creates it with the sound and importance of an alarm. Default: channel_id.',
    examples: ['alarms'],
  }),
  ...alarmSettings,
  endpoint: endpoint(defaultEndpoint, 'a proxy'),
  max_in_flight: MaxInFlight,
  timeout_ms: TimeoutMs,
});

interface FcmAlarm extends AlarmOptions {
  channel_id?: string;
  alarm_channel_id?: string;
}

interface ServiceAccount {
  project_id: string;
  client_email: string;
  private_key: string;
  token_uri: string;
}

const scope = 'https://www.googleapis.com/auth/firebase.messaging';

const notAnAccount: Failure = {
  ok: false,
  retry: false,
  denied: true,
  reason: 'service_account is not the JSON file of a service account',
};

export const fcm: Provider<typeof Settings> = {
  name: 'fcm',
  title: 'Firebase Cloud Messaging',
  medium: 'push',
  summary: 'Push notifications for Android, and for other devices that registered with Firebase.',
  settings: Settings,
  credential: { name: 'service account', hint: 'generate a new private key under Project settings, Service accounts' },
  shows: ['buttons', 'images'],
  updates: ['update'],
  accepts: (address, { app }) => {
    const device = readDevice(address);
    return device !== undefined && !isAppleToken(device.token) && (app === undefined || app === device.app);
  },
  async check({ service_account, timeout_ms }, { outbound }) {
    const account = readAccount(service_account);
    if (!account) return notAnAccount;
    const token = await requestToken(outbound, account, timeout_ms);
    return 'value' in token ? { ok: true } : token.failure;
  },
  open(options, { outbound }) {
    const { endpoint = defaultEndpoint, ttl_seconds, timeout_ms: timeoutMs } = options;
    const account = readAccount(options.service_account);
    const tokens = account && new RenewedValue(() => requestToken(outbound, account, timeoutMs));
    const post = async ({ id, address, content, urgent }: Addressed, quiet = false): Promise<Outcome> => {
      if (!account || !tokens) return notAnAccount;
      const device = readDevice(address);
      if (!device) return { ok: false, retry: false, gone: true, reason: 'the address is not a device' };
      const push = withAlarm(toPushMessage(id, content), urgent, options);
      const chosen = { ...push, ttlSeconds: push.ttlSeconds ?? ttl_seconds };
      const message = quiet ? makeQuiet(chosen) : chosen;
      const write = (text: string) => serialize(device.token, { ...message, body: text }, options);
      const body = fitBody(push.body, maxBytes.fcm.body, write);
      if (!body) return { ok: false, retry: false, reason: 'the message is larger than 4 KB, the limit of FCM' };
      const found = await tokens.get();
      if ('failure' in found) return found.failure;
      const token = found.value;
      return sendHttp(outbound, {
        url: join(endpoint, `/v1/projects/${encodeURIComponent(account.project_id)}/messages:send`),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
        timeoutMs,
        http2: true,
        secrets: [token, device.token],
        id: field('name'),
        errorText: ({ json }) =>
          [errorCode(json), pick(json, 'error', 'message')].filter(Boolean).join(': ') || undefined,
        classify: answer => {
          if (answer.status === 401) tokens.forget(token);
          return classify(answer);
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

function readAccount(text: string): ServiceAccount | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const fields = ['project_id', 'client_email', 'private_key', 'token_uri'];
    return fields.every(field => typeof value[field] === 'string') ? (value as unknown as ServiceAccount) : undefined;
  } catch {
    return undefined;
  }
}

/** Exchanges a signed assertion for an access token. */
async function requestToken(
  outbound: Outbound,
  account: ServiceAccount,
  timeoutMs: number | undefined,
): Promise<Renewal<string> | { failure: Failure }> {
  let assertion: string;
  try {
    const key = await importPKCS8(account.private_key, 'RS256');
    const issuedAt = new Date(currentTime());
    assertion = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(account.client_email)
      .setAudience(account.token_uri)
      .setIssuedAt(issuedAt)
      .setExpirationTime(new Date(issuedAt.getTime() + assertionMs))
      .sign(key);
  } catch {
    const reason = 'the private key of the service account cannot be read';
    return { failure: { ok: false, retry: false, denied: true, reason } };
  }
  let lifetimeSeconds = 0;
  const outcome = await sendHttp(outbound, {
    url: account.token_uri,
    form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion },
    timeoutMs,
    secrets: [assertion],
    id: ({ json }) => {
      lifetimeSeconds = Number(pick(json, 'expires_in'));
      return pick(json, 'access_token');
    },
    errorText: ({ json }) => pick(json, 'error_description') ?? pick(json, 'error'),
    // Google answers 400 invalid_grant to a key that was deleted.
    classify: ({ status }) => (status === 400 || status === 403 ? { retry: false, denied: true } : undefined),
  });
  if (!outcome.ok) {
    // Nothing was sent to a device yet.
    const { unknown: _, ...failure } = outcome;
    return { failure: { ...failure, reason: `signing in to Google: ${failure.reason}` } };
  }
  if (outcome.id && lifetimeSeconds > 0) return { value: outcome.id, lifetimeMs: lifetimeSeconds * 1_000 };
  return { failure: { ok: false, retry: true, reason: 'the token response could not be read' } };
}

function serialize(token: string, message: PushMessage, options: FcmAlarm): string {
  const { title, body, image, badge, sound, collapseKey, ttlSeconds, priority = 'high', silent, data } = message;
  const { channel_id, alarm_channel_id = channel_id } = options;
  const isLoud = isAlarm(message);
  const ttl = ttlSeconds === undefined ? undefined : `${ttlSeconds}s`;
  const notification = silent ? undefined : { title, body, image };
  return JSON.stringify({
    message: {
      token,
      notification,
      data,
      android: {
        collapse_key: collapseKey,
        priority: priority === 'high' ? 'HIGH' : 'NORMAL',
        ttl,
        // A message that is sent again replaces the first one.
        notification: silent
          ? undefined
          : {
              channel_id: message.channel ?? (isLoud ? alarm_channel_id : channel_id),
              // For Android 7 and earlier, which have no channels.
              notification_priority: isLoud ? 'PRIORITY_MAX' : undefined,
              sound,
              notification_count: badge,
              tag: collapseKey ?? data.belfry_id,
            },
      },
      apns: {
        headers: {
          'apns-priority': priority === 'high' && !silent ? '10' : '5',
          'apns-collapse-id': collapseKey ?? data.belfry_id?.slice(0, 64),
        },
        payload: {
          aps: { badge, ...toAppleAlarm(message, options), 'content-available': silent ? 1 : undefined },
        },
      },
      webpush: ttlSeconds === undefined ? undefined : { headers: { TTL: String(ttlSeconds) } },
    },
  });
}

function errorCode(json: unknown): string | undefined {
  const details = (json as { error?: { details?: unknown } } | undefined)?.error?.details;
  const found = Array.isArray(details) ? details.find(one => pick(one, 'errorCode') !== undefined) : undefined;
  return pick(found, 'errorCode') ?? pick(json, 'error', 'status');
}

/** https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
function classify({ status, headers, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status < 300) return undefined;
  switch (errorCode(json)) {
    case 'UNREGISTERED':
      return { retry: false, gone: true };
    case 'INVALID_ARGUMENT':
      // The message or the token; only the text says which.
      return /registration token/i.test(pick(json, 'error', 'message') ?? '')
        ? { retry: false, gone: true }
        : { retry: false };
    case 'QUOTA_EXCEEDED':
      // Google asks for a minute where it names no other time.
      return headers['retry-after'] === undefined ? { retry: true, retryAfterSeconds: 60 } : { retry: true };
    case 'SENDER_ID_MISMATCH':
      return { retry: false };
    case 'THIRD_PARTY_AUTH_ERROR':
    case 'PERMISSION_DENIED':
    case 'UNAUTHENTICATED':
      return { retry: false, denied: true };
    default:
      return undefined;
  }
}
