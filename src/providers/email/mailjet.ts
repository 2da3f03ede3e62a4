/** https://dev.mailjet.com/email/guides/send-api-v31/ */
import { type Answer, basic, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';
import * as email from './message.ts';

const usual = 'https://api.mailjet.com';

const Settings = settings({
  api_key: email.secretKey('The API key, as the account’s page on API keys shows it.'),
  secret_key: email.secretKey('The secret key that belongs to it.'),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint(`${usual} (in the US: https://api.us.mailjet.com)`),
  timeout_ms: email.TimeoutMs,
});

export const mailjet: Provider<typeof Settings> = {
  name: 'mailjet',
  title: 'Mailjet',
  medium: 'email',
  summary: 'Email through the Mailjet API.',
  settings: Settings,
  dedupes: false,
  open({ api_key, secret_key, from, reply_to, endpoint = usual, timeout_ms }, { outbound }) {
    const sender = email.toMailbox(from);
    const replyTo = reply_to && email.toMailbox(reply_to);
    return stateless(outgoing => {
      const { text, html } = email.bodies(outgoing);
      return sendHttp(outbound, {
        url: email.join(endpoint, '/v3.1/send'),
        headers: { authorization: basic(api_key, secret_key), 'content-type': 'application/json' },
        body: JSON.stringify({
          Messages: [
            {
              From: toPerson(sender),
              To: [{ Email: outgoing.address }],
              ...(replyTo && { ReplyTo: toPerson(replyTo) }),
              Subject: outgoing.content.title,
              ...(text && { TextPart: text }),
              ...(html && { HTMLPart: html }),
              ...(outgoing.unsubscribeUrl !== undefined && { Headers: email.unsubscribeHeaders(outgoing) }),
              CustomID: outgoing.id,
              EventPayload: JSON.stringify(outgoing.tags),
            },
          ],
        }),
        timeoutMs: timeout_ms,
        secrets: [api_key, secret_key, toBase64(`${api_key}:${secret_key}`)],
        // A number too large for JavaScript, so it is read as text.
        id: ({ text: answer }) => /"MessageID"\s*:\s*"?(\d+)/.exec(answer)?.[1],
        words: ({ json }) => errorOf(json, 'ErrorMessage') ?? pick(json, 'ErrorMessage'),
        sort: refusedInside,
      });
    });
  },
};

/** A refused message may come inside an answer of 200, with a status of its own. */
function refusedInside({ status, json }: Answer) {
  if (status >= 300 || pick(json, 'Messages', 0, 'Status') !== 'error') return undefined;
  const inner = Number(errorOf(json, 'StatusCode'));
  return { ok: false as const, retry: inner >= 500 || inner === 429 };
}

function errorOf(json: unknown, field: string): string | undefined {
  return pick(json, 'Messages', 0, 'Errors', 0, field);
}

function toPerson({ name, address }: email.Mailbox): { Email: string; Name?: string } {
  return name ? { Email: address, Name: name } : { Email: address };
}
