/** Documented answers of the email services. */
import { json } from '../compliance.ts';
import {
  busy,
  type DocumentedAnswers,
  denied,
  gone,
  oneRecipient,
  permanent,
  plainLimit,
  secondsFromNow,
  wait,
  waitAbout,
} from './table.ts';

const suppressedLater = 'a suppressed address is accepted, and reported by a webhook';
const mailjetError = (StatusCode: number, ErrorCode: string) =>
  json(200, {
    Messages: [{ Status: 'error', Errors: [{ ErrorIdentifier: 'f987', ErrorCode, StatusCode, ErrorMessage: 'no' }] }],
  });
const sesError = (status: number, type: string) => json(status, { message: 'no' }, { 'x-amzn-errortype': type });
const suppressed = (type: string, headers: Record<string, string> = {}) => {
  const recipients = [{ email: 'jane@acme.test', name: null, reasons: ['hard_bounced'] }];
  return json(202, { message: 'no', warnings: [{ type, warning: 'no', recipients }] }, headers);
};
const postmarkError = (status: number, ErrorCode: number, Message = 'no') => json(status, { ErrorCode, Message });

export const emailAnswers: Record<string, DocumentedAnswers> = {
  sendgrid: {
    source: 'https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send',
    partial: suppressedLater,
    limit: [
      [
        'a limit with the time of its end',
        () =>
          json(
            429,
            { errors: [{ field: null, message: 'too many requests' }] },
            { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(secondsFromNow(60)) },
          ),
        waitAbout(60),
      ],
      ['a limit without a time', json(429, { errors: [{ field: null, message: 'too many requests' }] }), busy],
    ],
    credential: [
      ['a wrong key', json(401, { errors: [{ message: 'authorization required', field: null, help: null }] }), denied],
      [
        'a key without the permission',
        json(403, { errors: [{ message: 'access forbidden', field: null, help: null }] }),
        denied,
      ],
    ],
    gone: suppressedLater,
    other: [
      [
        'a sender that is not verified',
        json(403, { errors: [{ message: 'The from address does not match a verified Sender Identity.' }] }),
        permanent,
      ],
      ['a message that is too large', json(413, { errors: [{ message: 'Payload too large' }] }), permanent],
    ],
  },
  mailgun: {
    source: 'https://documentation.mailgun.com/docs/mailgun/api-reference/mg-errors',
    partial: suppressedLater,
    limit: plainLimit('{"message":"Too Many Requests"}'),
    credential: [['a wrong key', { status: 401, body: 'Forbidden' }, denied]],
    gone: suppressedLater,
    other: [
      ['a domain that may not send', json(403, { message: 'Domain acme.test is not allowed to send' }), permanent],
    ],
  },
  mailjet: {
    source: 'https://dev.mailjet.com/email/guides/send-api-v31/#send-api-errors',
    partial: [
      ['a refused message in a 200', mailjetError(400, 'mj-0013'), permanent],
      ['a limit in a 200', mailjetError(429, 'mj-0001'), busy],
      ['an outage in a 200', mailjetError(500, 'mj-0001'), busy],
      ['a wrong key in a 200', mailjetError(401, 'mj-0002'), denied],
    ],
    limit: plainLimit(),
    credential: [
      ['a wrong key', json(401, { ErrorMessage: 'API key authentication failure', StatusCode: 401 }), denied],
    ],
    gone: suppressedLater,
  },
  postmark: {
    source: 'https://postmarkapp.com/developer/api/overview#error-codes',
    partial: [
      [
        'an inactive recipient in a 200',
        postmarkError(200, 0, 'Message OK, but will not deliver to these inactive addresses: jane@acme.test.'),
        gone,
      ],
      ['an error in a 200', postmarkError(200, 300), permanent],
    ],
    limit: plainLimit('{"ErrorCode":429,"Message":"Rate limit exceeded"}'),
    credential: [
      ['a wrong token', postmarkError(401, 10), denied],
      ['a wrong token, with another status', postmarkError(422, 10), denied],
    ],
    gone: [['an inactive recipient', postmarkError(422, 406), gone]],
    other: [
      ['a sender that is not confirmed', postmarkError(422, 400), permanent],
      ['no credits left', postmarkError(422, 405), permanent],
      ['maintenance', postmarkError(503, 100), busy],
    ],
  },
  resend: {
    source: 'https://resend.com/docs/api-reference/errors',
    partial: suppressedLater,
    limit: [
      ['a limit', json(429, { name: 'rate_limit_exceeded', message: 'no' }, { 'retry-after': '1' }), wait(1)],
      ['the quota of the day', json(429, { name: 'daily_quota_exceeded', message: 'no' }), busy],
    ],
    credential: [
      ['a wrong key', json(403, { name: 'invalid_api_key', message: 'API key is invalid' }), denied],
      ['no key', json(401, { name: 'missing_api_key', message: 'Missing API key' }), denied],
      ['a key that may not send', json(401, { name: 'restricted_api_key', message: 'no' }), denied],
    ],
    gone: suppressedLater,
    other: [
      ['a domain that is not verified', json(403, { name: 'validation_error', message: 'no' }), permanent],
      ['the same message in flight', json(409, { name: 'concurrent_idempotent_requests', message: 'no' }), busy],
      ['another message with this key', json(409, { name: 'invalid_idempotent_request', message: 'no' }), permanent],
    ],
  },
  ses: {
    source: 'https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html#API_SendEmail_Errors',
    partial: suppressedLater,
    limit: [
      ['too many requests', sesError(429, 'TooManyRequestsException'), busy],
      ['throttling with status 400', sesError(400, 'ThrottlingException'), busy],
    ],
    credential: [
      ['a wrong secret key', sesError(403, 'SignatureDoesNotMatch'), denied],
      ['a user without the permission', sesError(403, 'AccessDeniedException'), denied],
    ],
    gone: suppressedLater,
    other: [
      ['a message that is rejected', sesError(400, 'MessageRejected'), permanent],
      ['a paused account', sesError(400, 'SendingPausedException'), permanent],
    ],
  },
  brevo: {
    source:
      'https://developers.brevo.com/docs/limit-headers and https://developers.brevo.com/reference/send-transac-email',
    partial: suppressedLater,
    limit: [
      [
        'a limit with the seconds until its end',
        json(429, { code: 'too_many_requests', message: 'no' }, { 'x-sib-ratelimit-reset': '7' }),
        wait(7),
      ],
    ],
    credential: [['a wrong key', json(401, { code: 'unauthorized', message: 'Key not found' }), denied]],
    gone: suppressedLater,
    other: [['no credits left', json(402, { code: 'not_enough_credits', message: 'no' }), permanent]],
  },
  sparkpost: {
    source:
      'https://developers.sparkpost.com/api/transmissions/ and https://support.sparkpost.com/docs/api-error-codes',
    partial: [
      [
        'no accepted recipient in a 200',
        json(200, { results: { total_rejected_recipients: 1, total_accepted_recipients: 0, id: '1' } }),
        permanent,
      ],
    ],
    limit: [
      ...plainLimit('{"errors":[{"message":"Too many requests"}]}'),
      ['a sending limit', json(420, { errors: [{ message: 'Exceed Sending Limit', code: '2101' }] }), busy],
    ],
    credential: [
      ['a wrong key', json(401, { errors: [{ message: 'Unauthorized.' }] }), denied],
      ['a key without the permission', json(403, { errors: [{ message: 'Forbidden.' }] }), denied],
    ],
    gone: suppressedLater,
  },
  mailersend: {
    source: 'https://developers.mailersend.com/api/v1/email.html#send-an-email',
    partial: [
      ['all recipients suppressed, in a 202', suppressed('ALL_SUPPRESSED'), gone],
      ['a warning about other recipients', suppressed('SOME_SUPPRESSED', { 'x-message-id': '5e42' }), { ok: true }],
    ],
    limit: plainLimit('{"message":"Too Many Attempts."}'),
    credential: [
      ['a wrong token', json(401, { message: 'Unauthenticated.' }), denied],
      ['a token without the permission', json(403, { message: 'no' }), denied],
    ],
    gone: [['all recipients suppressed, in a 202', suppressed('ALL_SUPPRESSED'), gone]],
    other: [['maintenance', json(421, { message: 'wait' }), busy]],
  },
  mailtrap: {
    source: 'https://docs.mailtrap.io/developers/email-sending/transactional',
    partial: [['a failure in a 200', json(200, { success: false, errors: ['no'] }), permanent]],
    limit: plainLimit('{"success":false,"errors":["Too many requests"]}'),
    credential: [
      ['a wrong token', json(401, { success: false, errors: ['Unauthorized'] }), denied],
      ['a token of another domain', json(403, { success: false, errors: ['Forbidden'] }), denied],
    ],
    gone: suppressedLater,
  },
  smtp: {
    source: 'RFC 5321, 4.2, and RFC 3463: replies are in answers.test.ts',
    partial: oneRecipient,
    limit: 'replies of the protocol are in answers.test.ts',
    credential: 'replies of the protocol are in answers.test.ts',
    gone: 'replies of the protocol are in answers.test.ts',
  },
};
