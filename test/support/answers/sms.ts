/** Documented answers of the services for text messages, calls and WhatsApp. */
import { json } from '../compliance.ts';
import { busy, type DocumentedAnswers, denied, gone, oneRecipient, permanent, plainLimit, type Row } from './table.ts';

const reportedLater = 'numbers are checked later, and reported by a webhook';
const configured = 'the answers are those of the gateway that the settings describe';
const twilioError = (status: number, code: number) => json(status, { code, message: 'no', status });
const twilioState = (status: string, error_code: number | null) =>
  json(201, { sid: 'SM1', status, error_code, error_message: error_code && 'no' });
const pairLimit = { retry: true, retryAfterSeconds: 30, ofRecipient: true } as const;
const vonageError = (status: number, code: string) =>
  json(status, { type: `https://developer.vonage.com/api-errors/messages#${code}`, title: 'x', detail: 'no' });
const infobipState = (groupName: string, name: string) =>
  json(200, { messages: [{ messageId: 'm', status: { groupName, name, description: 'no' } }] });
export const awsError = (status: number, code: string, message = 'no') => ({
  status,
  headers: { 'content-type': 'text/xml' },
  body: `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
});
export const whatsappError = (status: number, code: number, details = 'no') =>
  json(status, {
    error: {
      message: `(#${code}) x`,
      type: 'OAuthException',
      code,
      error_data: { messaging_product: 'whatsapp', details },
    },
  });
const whatsappLimit = (code: number): Row => [
  `the rate limit ${code}, with status 400`,
  whatsappError(400, code),
  // This one is about one recipient.
  { retry: true, ...(code === 131_056 && { ofRecipient: true }) },
];

export const smsAnswers: Record<string, DocumentedAnswers> = {
  twilio: {
    source: 'https://www.twilio.com/docs/api/errors and https://www.twilio.com/docs/messaging/api/message-resource',
    partial: [
      ['a message that failed at once', twilioState('failed', 30_008), permanent],
      ['a message that failed without a code', twilioState('undelivered', null), permanent],
      ['a message to a number that has unsubscribed', twilioState('failed', 21_610), gone],
      ['too many messages between two numbers', twilioState('failed', 14_107), pairLimit],
    ],
    limit: [
      ['a limit of requests', twilioError(429, 20_429), busy],
      ['too many messages between two numbers', twilioError(400, 14_107), pairLimit],
      ['a full queue of the sender', twilioError(400, 21_611), busy],
    ],
    credential: [
      ['a wrong token', twilioError(401, 20_003), denied],
      ['a key without the permission', twilioError(403, 20_003), denied],
    ],
    gone: [
      ['a number that is none', twilioError(400, 21_211), gone],
      ['a number that has unsubscribed', twilioError(400, 21_610), gone],
      ['a number that gets no text messages', twilioError(400, 21_614), gone],
      ['a landline', twilioError(400, 21_635), gone],
    ],
    other: [
      ['a region that is not switched on', twilioError(400, 21_408), permanent],
      ['no route from this sender', twilioError(400, 21_612), permanent],
    ],
  },
  'twilio-voice': {
    source: 'https://www.twilio.com/docs/api/errors and https://www.twilio.com/docs/voice/api/call-resource',
    partial: [['a call that failed at once', json(201, { sid: 'CA1', status: 'failed' }), permanent]],
    limit: [['too many calls at once', twilioError(429, 20_429), busy]],
    credential: [['a wrong token', twilioError(401, 20_003), denied]],
    gone: [
      ['a number that does not exist', twilioError(400, 21_211), gone],
      ['a number that cannot be called', twilioError(400, 21_217), gone],
    ],
  },
  vonage: {
    source: 'https://developer.vonage.com/en/api-errors/messages',
    partial: oneRecipient,
    limit: [
      ['a limit of requests', vonageError(429, '1000'), busy],
      ['throttling, with another status', vonageError(422, '1000'), busy],
    ],
    credential: [
      ['a wrong secret', json(401, { type: 'https://developer.vonage.com/api-errors#unauthorized' }), denied],
    ],
    gone: [
      ['a barred number', vonageError(422, '1050'), gone],
      ['a number that is not mobile', vonageError(422, '1430'), gone],
    ],
    other: [
      ['an internal error', vonageError(422, '1030'), busy],
      ['a network that is not reachable', vonageError(422, '1100'), busy],
      ['an empty balance', json(402, { type: 'https://developer.vonage.com/api-errors#low-balance' }), permanent],
    ],
  },
  plivo: {
    source: 'https://www.plivo.com/docs/messaging/api/message/send-a-message',
    partial: [
      [
        'an invalid number in a 202',
        json(202, { message: 'message(s) queued', message_uuid: [], invalid_number: ['15555550123'], api_id: 'a' }),
        gone,
      ],
      ['no message in a 202', json(202, { message: 'message(s) queued', message_uuid: [], api_id: 'a' }), permanent],
    ],
    limit: plainLimit('{"error":"rate limit exceeded"}'),
    credential: [['a wrong token', { status: 401, body: 'Could not verify your access level for that URL.' }, denied]],
    gone: [
      [
        'an invalid number in a 202',
        json(202, { message: 'message(s) queued', message_uuid: [], invalid_number: ['15555550123'], api_id: 'a' }),
        gone,
      ],
    ],
  },
  sinch: {
    source: 'https://developers.sinch.com/docs/sms/api-reference/status-codes',
    partial: oneRecipient,
    limit: plainLimit(),
    credential: [['a wrong token', { status: 401 }, denied]],
    gone: reportedLater,
    other: [['a sender of another account', json(403, { code: 'unknown_originator', text: 'no' }), permanent]],
  },
  infobip: {
    source: 'https://www.infobip.com/docs/essentials/api-essentials/response-status-and-error-codes',
    partial: [
      ['a rejected message in a 200', infobipState('REJECTED', 'REJECTED_NOT_ENOUGH_CREDITS'), permanent],
      ['an undeliverable message in a 200', infobipState('UNDELIVERABLE', 'UNDELIVERABLE_NOT_DELIVERED'), permanent],
      ['an expired message in a 200', infobipState('EXPIRED', 'EXPIRED_EXPIRED'), permanent],
      ['a fault of Infobip in a 200', infobipState('REJECTED', 'REJECTED_SYSTEM_ERROR'), busy],
      ['a message that waits', infobipState('PENDING', 'PENDING_ENROUTE'), { ok: true }],
    ],
    limit: [
      ...plainLimit('{"errorCode":"E429","description":"Too many requests"}'),
      ['too many equal messages, in a 200', infobipState('REJECTED', 'REJECTED_FLOODING_FILTER'), busy],
    ],
    credential: [
      ['a wrong key', json(401, { errorCode: 'E401', description: 'no' }), denied],
      [
        'a wrong key, in the older form',
        json(401, { requestError: { serviceException: { messageId: 'UNAUTHORIZED', text: 'Invalid login details' } } }),
        denied,
      ],
    ],
    gone: reportedLater,
  },
  bird: {
    source: 'https://docs.bird.com/api/channels-api/api-reference/messaging',
    partial: [
      ['a rejected message in a 202', json(202, { id: 'm', status: 'rejected', reason: 'no' }), permanent],
      ['a message that failed in a 202', json(202, { id: 'm', status: 'sending_failed' }), permanent],
    ],
    limit: plainLimit('{"code":"RateLimited"}'),
    credential: [
      ['a wrong key', json(401, { code: 'Unauthorized', message: 'no' }), denied],
      ['a key without access to the channel', json(403, { code: 'AccessDenied', message: 'no' }), denied],
    ],
    gone: reportedLater,
  },
  sns: {
    source: 'https://docs.aws.amazon.com/sns/latest/api/API_Publish.html#API_Publish_Errors',
    partial: oneRecipient,
    limit: [
      ['throttling', awsError(429, 'Throttled'), busy],
      ['throttling with status 400', awsError(400, 'Throttling'), busy],
    ],
    credential: [
      ['a wrong secret key', awsError(403, 'SignatureDoesNotMatch'), denied],
      ['a user without the permission', awsError(403, 'AuthorizationError'), denied],
      ['an unknown access key', awsError(403, 'InvalidClientTokenId'), denied],
    ],
    gone: [
      ['a number that has opted out', awsError(400, 'OptedOut'), gone],
      [
        'a number that is none',
        awsError(400, 'InvalidParameter', 'Invalid parameter: PhoneNumber Reason: +1 is not valid to publish to'),
        gone,
      ],
    ],
    other: [['another parameter', awsError(400, 'InvalidParameter', 'Invalid parameter: Message too long'), permanent]],
  },
  'sms-gateway': {
    source: 'none: every gateway has its own',
    partial: [['a 200 without the text of a success', json(200, { status: 'failed' }), permanent]],
    limit: plainLimit(),
    credential: [['a wrong secret', { status: 401 }, denied]],
    gone: configured,
  },
  whatsapp: {
    source: 'https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes',
    partial: oneRecipient,
    limit: [4, 80_007, 130_429, 131_048, 131_056].map(whatsappLimit),
    credential: [
      ['a token that expired', whatsappError(401, 190), denied],
      ['a missing permission', whatsappError(403, 200), denied],
      ['a token without access to the number', whatsappError(403, 10), denied],
    ],
    gone: 'a number without WhatsApp (131026) may get it later',
    other: [
      ['a number without WhatsApp', whatsappError(400, 131_026), permanent],
      ['a blocked account (368)', whatsappError(403, 368), permanent],
      ['a locked account (131031)', whatsappError(403, 131_031), permanent],
      ['an outage, with status 400', whatsappError(400, 131_016), busy],
      ['the end of the 24 hours', whatsappError(400, 131_047), permanent],
      ['a template that does not exist', whatsappError(404, 132_001), permanent],
    ],
  },
};
