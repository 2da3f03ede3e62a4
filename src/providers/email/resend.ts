/** https://resend.com/docs/api-reference/emails/send-email */
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';
import * as email from './message.ts';

const usual = 'https://api.resend.com';

const Settings = settings({
  api_key: email.secretKey('An API key that may send, re_…'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(usual),
  timeout_ms: email.TimeoutMs,
});

export const resend: Provider<typeof Settings> = {
  name: 'resend',
  title: 'Resend',
  medium: 'email',
  summary: 'Email through the Resend API.',
  settings: Settings,
  // The same Idempotency-Key gets the first one's answer, for 24 hours.
  dedupes: true,
  open({ api_key, from, reply_to, endpoint = usual, timeout_ms }, { outbound }) {
    return stateless(outgoing =>
      sendHttp(outbound, {
        url: email.join(endpoint, '/emails'),
        headers: {
          authorization: `Bearer ${api_key}`,
          'content-type': 'application/json',
          'idempotency-key': outgoing.id,
        },
        body: JSON.stringify({
          from,
          to: [outgoing.address],
          ...(reply_to && { reply_to }),
          subject: outgoing.content.title,
          ...email.bodies(outgoing),
          ...(outgoing.unsubscribeUrl !== undefined && { headers: email.unsubscribeHeaders(outgoing) }),
          tags: Object.entries(outgoing.tags).map(([name, value]) => ({ name, value: email.toLabel(value) })),
        }),
        timeoutMs: timeout_ms,
        secrets: [api_key],
        id: ({ json }) => pick(json, 'id'),
        words: ({ json }) => pick(json, 'message'),
        // Its twin is under way at this moment and will have an answer soon.
        sort: ({ json }) => (pick(json, 'name') === 'concurrent_idempotent_requests' ? { retry: true } : undefined),
      }),
    );
  },
};
