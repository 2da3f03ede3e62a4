/** https://resend.com/docs/api-reference/emails/send-email */
import { jsonFiles, withFiles } from '../http-files.ts';
import { type Failure, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const defaultEndpoint = 'https://api.resend.com';

const Settings = settings({
  api_key: email.secretKey('An API key with sending access, re_….'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(defaultEndpoint),
  webhook_secret: email.webhookSecret('The signing secret of the webhook, whsec_….'),
  timeout_ms: email.TimeoutMs,
});

export const resend: Provider<typeof Settings> = {
  name: 'resend',
  title: 'Resend',
  medium: 'email',
  summary: 'Email through the Resend API.',
  settings: Settings,
  credential: { name: 'API key', hint: 'create one with sending access under API Keys' },
  // For 24 hours, the same Idempotency-Key gets the response of the first request.
  dedupes: true,
  attaches: true,
  feedback: ({ webhook_secret }) => ({ service: 'resend', secret: webhook_secret }),
  check: ({ api_key, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: email.join(endpoint, '/domains'),
      headers: { authorization: `Bearer ${api_key}` },
      timeoutMs,
      secrets: [api_key],
      errorText: ({ json }) => pick(json, 'message'),
      // A key that may only send is what we need.
      classify: answer => (pick(answer.json, 'name') === 'restricted_api_key' ? { ok: true } : classify(answer)),
    }),
  open({ api_key, from, reply_to, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    return httpSender(async outgoing => {
      const files = await jsonFiles(outgoing);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/emails'),
        headers: {
          authorization: `Bearer ${api_key}`,
          'content-type': 'application/json',
          'idempotency-key': outgoing.id,
        },
        body: withFiles(
          JSON.stringify({
            from,
            to: [outgoing.address],
            ...(reply_to && { reply_to }),
            subject: outgoing.content.title,
            ...email.bodies(outgoing),
            headers: email.headersOf(outgoing, sender),
            tags: Object.entries({ ...outgoing.tags, belfry_id: outgoing.id }).map(([name, value]) => ({
              name,
              value: email.toLabel(value),
            })),
            ...(files.length > 0 && {
              attachments: files.map(({ name, contentType, contentId, content }) => ({
                filename: name,
                content,
                content_type: contentType,
                ...(contentId !== undefined && { content_id: contentId }),
              })),
            }),
          }),
          files,
        ),
        timeoutMs: timeout_ms,
        secrets: [api_key],
        id: ({ json }) => pick(json, 'id'),
        errorText: ({ json }) => pick(json, 'message'),
        classify,
      });
    });
  },
};

/** https://resend.com/docs/api-reference/errors */
function classify({ json }: ProviderAnswer): Partial<Failure> | undefined {
  switch (pick(json, 'name')) {
    // Another request with the same key is in flight.
    case 'concurrent_idempotent_requests':
      return { retry: true };
    // A 403, like the error for a domain that is not verified.
    case 'invalid_api_key':
    case 'missing_api_key':
      return { retry: false, denied: true };
    default:
      return undefined;
  }
}
