/** Compliance cases of the HTTP email providers, with the responses of their APIs. */
import { brevo } from '../../src/providers/email/brevo.ts';
import { mailersend } from '../../src/providers/email/mailersend.ts';
import { mailgun } from '../../src/providers/email/mailgun.ts';
import { mailjet } from '../../src/providers/email/mailjet.ts';
import { mailtrap } from '../../src/providers/email/mailtrap.ts';
import { postmark } from '../../src/providers/email/postmark.ts';
import { resend } from '../../src/providers/email/resend.ts';
import { sendgrid } from '../../src/providers/email/sendgrid.ts';
import { ses } from '../../src/providers/email/ses.ts';
import { sparkpost } from '../../src/providers/email/sparkpost.ts';
import { base64, type ComplianceCase, exampleId, json } from './compliance.ts';

const from = 'Acme <no-reply@acme.test>';

export const emailCases = {
  sendgrid: {
    provider: sendgrid,
    settings: url => ({ api_key: 'SG.hush.hush-hush', from, endpoint: url }),
    secrets: ['SG.hush.hush-hush'],
    answers: {
      accepted: { status: 202, headers: { 'x-message-id': '14c5d75ce93.dfd.64b469' } },
      id: '14c5d75ce93.dfd.64b469',
      refused: words => json(400, { errors: [{ message: words, field: 'personalizations.0.to', help: null }] }),
    },
  } satisfies ComplianceCase<typeof sendgrid.settings>,

  mailgun: {
    provider: mailgun,
    settings: url => ({ api_key: 'key-hush-hush', from, endpoint: url }),
    secrets: ['key-hush-hush', base64('api:key-hush-hush')],
    answers: {
      accepted: json(200, { id: '<20111114174239.25659.5817@acme.test>', message: 'Queued. Thank you.' }),
      id: '20111114174239.25659.5817@acme.test',
      refused: words => json(400, { message: words }),
    },
  } satisfies ComplianceCase<typeof mailgun.settings>,

  mailjet: {
    provider: mailjet,
    settings: url => ({ api_key: 'hush-key-1', secret_key: 'hush-secret', from, endpoint: url }),
    secrets: ['hush-key-1', 'hush-secret', base64('hush-key-1:hush-secret')],
    answers: {
      accepted: {
        // As text, because the number has more digits than JavaScript can represent.
        body: '{"Messages":[{"Status":"success","CustomID":"x","To":[{"Email":"jane@acme.test","MessageUUID":"123","MessageID":288230376151711747,"MessageHref":"https://api.mailjet.com/v3/message/288230376151711747"}]}]}',
      },
      id: '288230376151711747',
      refused: words =>
        json(400, {
          Messages: [
            {
              Status: 'error',
              Errors: [{ ErrorIdentifier: 'f987', ErrorCode: 'mj-0013', StatusCode: 400, ErrorMessage: words }],
            },
          ],
        }),
    },
  } satisfies ComplianceCase<typeof mailjet.settings>,

  postmark: {
    provider: postmark,
    settings: url => ({ server_token: 'hush-token', from, endpoint: url }),
    secrets: ['hush-token'],
    answers: {
      accepted: json(200, {
        To: 'jane@acme.test',
        SubmittedAt: '2030-01-02T03:04:05Z',
        MessageID: '0a129aee-e1cd-480d-b08d-4f48548ff48d',
        ErrorCode: 0,
        Message: 'OK',
      }),
      id: '0a129aee-e1cd-480d-b08d-4f48548ff48d',
      refused: words => json(422, { ErrorCode: 300, Message: words }),
    },
  } satisfies ComplianceCase<typeof postmark.settings>,

  resend: {
    provider: resend,
    settings: url => ({ api_key: 're_hush_hush', from, endpoint: url }),
    secrets: ['re_hush_hush'],
    answers: {
      accepted: json(200, { id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794' }),
      id: '49a3999c-0ce1-4ea6-ab68-afcd6dc2e794',
      refused: words => json(422, { statusCode: 422, name: 'validation_error', message: words }),
      denied: json(403, { statusCode: 403, name: 'invalid_api_key', message: 'API key is invalid' }),
      checked: json(401, { statusCode: 401, name: 'restricted_api_key', message: 'restricted to only send emails' }),
    },
  } satisfies ComplianceCase<typeof resend.settings>,

  ses: {
    provider: ses,
    settings: url => ({
      region: 'eu-central-1',
      access_key_id: 'AKIAEXAMPLEEXAMPLE',
      secret_access_key: 'hush/hush+hush',
      session_token: 'hush-session',
      from,
      endpoint: url,
    }),
    secrets: ['hush/hush+hush', 'hush-session'],
    answers: {
      accepted: json(200, { MessageId: '0107018e-f1a2-000000' }),
      id: '0107018e-f1a2-000000',
      refused: words => json(400, { message: words }, { 'x-amzn-errortype': 'MessageRejected' }),
    },
  } satisfies ComplianceCase<typeof ses.settings>,

  brevo: {
    provider: brevo,
    settings: url => ({ api_key: 'xkeysib-hush', from, reply_to: 'help@acme.test', endpoint: url }),
    secrets: ['xkeysib-hush'],
    answers: {
      accepted: json(201, { messageId: '<202301020304.1234@smtp-relay.mailin.fr>' }),
      id: '202301020304.1234@smtp-relay.mailin.fr',
      refused: words => json(400, { code: 'invalid_parameter', message: words }),
      throttled: json(429, { code: 'too_many_requests', message: 'wait' }, { 'x-sib-ratelimit-reset': '7' }),
    },
    request: {
      path: '/v3/smtp/email',
      headers: { 'api-key': 'xkeysib-hush', 'content-type': 'application/json' },
      body: {
        sender: { email: 'no-reply@acme.test', name: 'Acme' },
        to: [{ email: 'jane@acme.test' }],
        replyTo: { email: 'help@acme.test' },
        subject: 'Order 7 is paid',
        textContent: 'Hello Jane',
        htmlContent: '<p>Hello <b>Jane</b></p>',
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Mailin-custom': exampleId },
        tags: ['acme', 'order-paid', 'Receipt, by mail'],
      },
    },
  } satisfies ComplianceCase<typeof brevo.settings>,

  sparkpost: {
    provider: sparkpost,
    settings: url => ({ api_key: 'hush-key', from, reply_to: 'Help <help@acme.test>', endpoint: url }),
    secrets: ['hush-key'],
    answers: {
      accepted: json(200, {
        results: { total_rejected_recipients: 0, total_accepted_recipients: 1, id: '11668787484950529' },
      }),
      id: '11668787484950529',
      refused: words => json(400, { errors: [{ message: 'Invalid domain', description: words, code: '7001' }] }),
    },
    request: {
      path: '/api/v1/transmissions',
      headers: { authorization: 'hush-key', 'content-type': 'application/json' },
      body: {
        recipients: [{ address: { email: 'jane@acme.test' }, metadata: { belfry_id: exampleId } }],
        metadata: { organization: 'acme', event: 'order-paid', notification: 'Receipt, by mail' },
        content: {
          from: { email: 'no-reply@acme.test', name: 'Acme' },
          subject: 'Order 7 is paid',
          reply_to: 'Help <help@acme.test>',
          text: 'Hello Jane',
          html: '<p>Hello <b>Jane</b></p>',
          headers: { 'Auto-Submitted': 'auto-generated' },
        },
        options: { open_tracking: false, click_tracking: false, transactional: true },
      },
    },
  } satisfies ComplianceCase<typeof sparkpost.settings>,

  mailersend: {
    provider: mailersend,
    settings: url => ({ api_token: 'mlsn.hush', from, reply_to: 'Help <help@acme.test>', endpoint: url }),
    secrets: ['mlsn.hush'],
    answers: {
      accepted: { status: 202, headers: { 'x-message-id': '5e42957d51f1d94a1070a733' } },
      id: '5e42957d51f1d94a1070a733',
      refused: words => json(422, { message: words, errors: { 'from.email': [words] } }),
    },
    request: {
      path: '/v1/email',
      headers: { authorization: 'Bearer mlsn.hush', 'content-type': 'application/json' },
      body: {
        from: { email: 'no-reply@acme.test', name: 'Acme' },
        to: [{ email: 'jane@acme.test' }],
        reply_to: { email: 'help@acme.test', name: 'Help' },
        subject: 'Order 7 is paid',
        text: 'Hello Jane',
        html: '<p>Hello <b>Jane</b></p>',
        tags: ['acme', 'order-paid', 'Receipt, by mail'],
      },
    },
  } satisfies ComplianceCase<typeof mailersend.settings>,

  mailtrap: {
    provider: mailtrap,
    settings: url => ({ api_token: 'hush-token', from, reply_to: 'Help <help@acme.test>', endpoint: url }),
    secrets: ['hush-token'],
    answers: {
      accepted: json(200, { success: true, message_ids: ['0c7fd939-02cf-11ed-88c2-0a58a9feac02'] }),
      id: '0c7fd939-02cf-11ed-88c2-0a58a9feac02',
      refused: words => json(400, { success: false, errors: [words] }),
    },
    request: {
      path: '/api/send',
      headers: { authorization: 'Bearer hush-token', 'content-type': 'application/json' },
      body: {
        from: { email: 'no-reply@acme.test', name: 'Acme' },
        to: [{ email: 'jane@acme.test' }],
        reply_to: { email: 'help@acme.test', name: 'Help' },
        subject: 'Order 7 is paid',
        text: 'Hello Jane',
        html: '<p>Hello <b>Jane</b></p>',
        headers: { 'Auto-Submitted': 'auto-generated' },
        category: 'order-paid',
        custom_variables: { belfry_id: exampleId },
      },
    },
  } satisfies ComplianceCase<typeof mailtrap.settings>,
};
