/** Documented answers of push services, of alerting services, and of webhooks. */
import { json } from '../compliance.ts';
import {
  busy,
  type DocumentedAnswers,
  denied,
  gone,
  oneRecipient,
  permanent,
  plainLimit,
  type Row,
  secondsFromNow,
  wait,
  waitAbout,
} from './table.ts';

const oneRoom = 'the room is part of the settings';
const nothingSent = 'nothing is sent to a service';
export const fcmError = (code: number, errorCode: string, message = 'no') =>
  json(code, {
    error: {
      code,
      message,
      status: 'X',
      details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
    },
  });
const each = (status: number, reasons: string[], outcome: Row[2]): Row[] =>
  reasons.map(reason => [reason, json(status, { reason }), outcome]);
const ntfyError = (http: number, code: number) => json(http, { code, http, error: 'no' });
const gotifyError = (errorCode: number) => json(errorCode, { error: 'x', errorCode, errorDescription: 'no' });
const pushoverError = (status: number, more: object) =>
  json(status, { status: 0, request: 'r', errors: ['no'], ...more });
const pagerdutyError = (text: string) =>
  json(400, { status: 'invalid event', message: 'Event object is invalid', errors: [text] });
const opsgenieError = (status: number, headers: Record<string, string> = {}) =>
  json(status, { message: 'no', took: 0.1, requestId: 'r' }, headers);

export const pushAnswers: Record<string, DocumentedAnswers> = {
  fcm: {
    source: 'https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode',
    partial: oneRecipient,
    limit: [
      ['QUOTA_EXCEEDED', fcmError(429, 'QUOTA_EXCEEDED'), wait(60)],
      ['QUOTA_EXCEEDED with a time', { ...fcmError(429, 'QUOTA_EXCEEDED'), headers: { 'retry-after': '7' } }, wait(7)],
    ],
    credential: [
      ['an expired token', json(401, { error: { code: 401, message: 'no', status: 'UNAUTHENTICATED' } }), denied],
      [
        'an account without the permission',
        json(403, { error: { code: 403, message: 'no', status: 'PERMISSION_DENIED' } }),
        denied,
      ],
      ['a wrong key of Apple in the project', fcmError(401, 'THIRD_PARTY_AUTH_ERROR'), denied],
    ],
    gone: [
      ['UNREGISTERED', fcmError(404, 'UNREGISTERED'), gone],
      [
        'INVALID_ARGUMENT of the token',
        fcmError(400, 'INVALID_ARGUMENT', 'The registration token is not a valid FCM registration token'),
        gone,
      ],
    ],
    other: [
      ['INVALID_ARGUMENT of the message', fcmError(400, 'INVALID_ARGUMENT', 'Message is too big'), permanent],
      ['SENDER_ID_MISMATCH', fcmError(403, 'SENDER_ID_MISMATCH'), permanent],
      ['UNSPECIFIED_ERROR', fcmError(400, 'UNSPECIFIED_ERROR'), permanent],
      ['UNAVAILABLE', fcmError(503, 'UNAVAILABLE'), busy],
      ['INTERNAL', fcmError(500, 'INTERNAL'), busy],
    ],
  },
  apns: {
    source: 'https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns',
    partial: oneRecipient,
    limit: [
      ...each(429, ['TooManyProviderTokenUpdates'], busy),
      ...each(429, ['TooManyRequests'], { retry: true, ofRecipient: true }),
    ],
    credential: [
      ...each(400, ['TopicDisallowed'], denied),
      ...each(403, ['BadCertificate', 'BadCertificateEnvironment', 'Forbidden', 'InvalidProviderToken'], denied),
      ...each(403, ['MissingProviderToken', 'UnrelatedKeyIdInToken', 'BadEnvironmentKeyIdInToken'], denied),
    ],
    gone: [
      ...each(410, ['Unregistered', 'ExpiredToken'], gone),
      ...each(400, ['BadDeviceToken'], {
        ...gone,
        doubt: 'check that environment is that of the app: sandbox if Xcode installed it, production for all others',
      }),
    ],
    other: [
      ...each(400, ['BadCollapseId', 'BadExpirationDate', 'BadMessageId', 'BadPriority', 'BadTopic'], permanent),
      ...each(400, ['DeviceTokenNotForTopic', 'DuplicateHeaders', 'InvalidPushType', 'MissingDeviceToken'], permanent),
      ...each(400, ['MissingTopic', 'PayloadEmpty'], permanent),
      ...each(404, ['BadPath'], permanent),
      ...each(405, ['MethodNotAllowed'], permanent),
      ...each(413, ['PayloadTooLarge'], permanent),
      ...each(400, ['IdleTimeout'], busy),
      ...each(403, ['ExpiredProviderToken'], busy),
      ...each(500, ['InternalServerError'], busy),
      ...each(503, ['ServiceUnavailable', 'Shutdown'], busy),
    ],
  },
  vapid: {
    source: 'RFC 8030, 5 to 7, and RFC 8292, 4.2',
    partial: oneRecipient,
    limit: [
      [
        'a limit of the push service',
        { status: 429, headers: { 'retry-after': '7' } },
        { ...wait(7), ofRecipient: true },
      ],
    ],
    credential: [['a signature that is not accepted', { status: 401 }, denied]],
    gone: [
      ['a subscription that expired', { status: 404 }, gone],
      ['a subscription that was removed', { status: 410 }, gone],
    ],
    other: [['another key than the subscription was made with', { status: 403 }, permanent]],
  },
  ntfy: {
    source: 'https://docs.ntfy.sh/publish/#limitations and server/errors.go of the server',
    partial: oneRecipient,
    limit: [
      ['too many requests', ntfyError(429, 42_901), busy],
      ['the messages of the day', ntfyError(429, 42_908), busy],
    ],
    credential: [
      ['a wrong token', ntfyError(401, 40_101), denied],
      ['a topic that the token may not write to', ntfyError(403, 40_301), denied],
    ],
    gone: 'a topic needs no subscriber',
    other: [['a full server', ntfyError(507, 50_701), busy]],
  },
  gotify: {
    source: 'https://gotify.net/api-docs#/message/createMessage',
    partial: oneRecipient,
    limit: 'the server has no limits of its own; a proxy answers 429 by the rules of HTTP',
    credential: [
      ['a wrong token', gotifyError(401), denied],
      ['the token of a client', gotifyError(403), denied],
    ],
    gone: oneRoom,
  },
  pushover: {
    source: 'https://pushover.net/api#response and https://pushover.net/api#limits',
    partial: [['a refused message with status 200', pushoverError(200, {}), permanent]],
    limit: [
      [
        'the messages of the month, with the time of its end',
        () => {
          const { body, status } = pushoverError(429, {});
          return { status, body, headers: { 'x-limit-app-reset': String(secondsFromNow(60)) } };
        },
        waitAbout(60),
      ],
      ['a limit without a time', pushoverError(429, {}), busy],
    ],
    credential: [['an invalid token', pushoverError(400, { token: 'invalid' }), denied]],
    gone: [['an invalid user', pushoverError(400, { user: 'invalid' }), gone]],
  },
  pagerduty: {
    source: 'https://developer.pagerduty.com/docs/events-api-v2/trigger-events#response-codes--retry-logic',
    partial: 'an event is accepted or not',
    limit: plainLimit('{"status":"throttle exceeded","message":"Requests for this service are arriving too quickly."}'),
    credential: [
      ['an invalid key', pagerdutyError('Invalid routing key'), denied],
      [
        'a key of the wrong length',
        pagerdutyError("'routing_key' is the wrong length (should be 32 characters)"),
        denied,
      ],
    ],
    gone: oneRoom,
    other: [['an event that is not valid', pagerdutyError("'payload.severity' is invalid"), permanent]],
  },
  opsgenie: {
    source: 'https://docs.opsgenie.com/docs/response and https://docs.opsgenie.com/docs/api-rate-limiting',
    partial: 'a request is processed later, and reports nothing',
    limit: [
      ...plainLimit(),
      ['a limit with its period', opsgenieError(429, { 'x-ratelimit-period-in-sec': '60' }), wait(60)],
    ],
    credential: [
      ['a wrong key', opsgenieError(401), denied],
      ['the key of another integration', opsgenieError(403), denied],
    ],
    gone: oneRoom,
    other: [['an alert that is not valid', opsgenieError(422), permanent]],
  },
  'standard-webhooks': {
    source: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
    partial: oneRecipient,
    limit: [
      ['a receiver that is busy', { status: 429, headers: { 'retry-after': '7' } }, wait(7)],
      ['a receiver that is being fixed', { status: 404 }, busy],
    ],
    credential: [['a signature that is not accepted', { status: 401 }, { retry: true, denied: true }]],
    gone: [['an endpoint that was removed', { status: 410 }, gone]],
    other: [
      ['a message that is refused', { status: 422 }, permanent],
      ['an endpoint that moved', { status: 308, headers: { location: 'https://x.test' } }, permanent],
    ],
  },
  apprise: {
    source: 'https://github.com/caronc/apprise-api#api-details',
    partial: [
      ['no configuration with this key', { status: 204 }, permanent],
      ['a service that failed, while others may have sent it', json(424, { error: 'no' }), permanent],
    ],
    limit: 'the server has no limits of its own; those of the services are in its log',
    credential: [['a proxy that knows no such user', { status: 401 }, denied]],
    gone: oneRoom,
    other: [['an outage', { status: 500 }, busy]],
  },
  inbox: {
    source: 'none: the engine stores the message',
    partial: nothingSent,
    limit: nothingSent,
    credential: nothingSent,
    gone: nothingSent,
  },
  sandbox: {
    source: 'none: the engine keeps the message',
    partial: nothingSent,
    limit: nothingSent,
    credential: nothingSent,
    gone: nothingSent,
  },
};
