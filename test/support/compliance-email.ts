/** Compliance cases of the HTTP email providers, with the responses of their APIs. */
import { mailgun } from '../../src/providers/email/mailgun.ts';
import { mailjet } from '../../src/providers/email/mailjet.ts';
import { postmark } from '../../src/providers/email/postmark.ts';
import { resend } from '../../src/providers/email/resend.ts';
import { sendgrid } from '../../src/providers/email/sendgrid.ts';
import { ses } from '../../src/providers/email/ses.ts';
import type { ComplianceCase } from './compliance.ts';

const from = 'Acme <no-reply@acme.test>';
const json = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

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
      refused: words => json(422, { ErrorCode: 406, Message: words }),
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
};
