/** https://www.plivo.com/docs/messaging/api/messages/#send-a-message */
import { Type } from 'typebox';
import { truncate } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import { basic, type Failure, type ProviderAnswer, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const defaultEndpoint = 'https://api.plivo.com';

const Settings = settings({
  auth_id: Type.String({
    pattern: '^[MS]A[A-Z0-9]{18}$',
    patternHint: 'must be 20 letters and digits that start with MA or SA',
    description: 'The auth ID of the account or subaccount, from the home page of the console.',
    examples: ['MAXXXXXXXXXXXXXXXXXX'],
  }),
  auth_token: secretKey('The auth token of the same account.'),
  from: Type.String({
    pattern: '^(\\+?[0-9]{3,15}|[A-Za-z0-9 ._-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, or a sender name of up to 11 characters',
    description: 'The sender: a phone number of the account, or a sender name if the country allows one.',
    examples: ['+15555550100'],
  }),
  endpoint: endpoint(defaultEndpoint, 'a proxy'),
  timeout_ms: TimeoutMs,
});

export const plivo: Provider<typeof Settings> = {
  name: 'plivo',
  title: 'Plivo',
  medium: 'sms',
  summary: 'Text messages through the Plivo API.',
  settings: Settings,
  credential: {
    name: 'auth ID or auth token',
    hint: 'copy both from the overview of the console',
    fields: ['auth_id', 'auth_token'],
  },
  dedupes: false,
  check: ({ auth_id, auth_token, endpoint = defaultEndpoint, timeout_ms: timeoutMs }, { outbound }) =>
    sendHttp(outbound, {
      method: 'GET',
      url: join(endpoint, `/v1/Account/${auth_id}/`),
      headers: { authorization: basic(auth_id, auth_token) },
      timeoutMs,
      secrets: [auth_token, toBase64(`${auth_id}:${auth_token}`)],
      errorText: ({ json }) => pick(json, 'error'),
    }),
  open({ auth_id, auth_token, from, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    return httpSender(({ address, content }) =>
      sendHttp(outbound, {
        url: join(endpoint, `/v1/Account/${auth_id}/Message/`),
        headers: { authorization: basic(auth_id, auth_token), 'content-type': 'application/json' },
        body: JSON.stringify({ src: from, dst: address, text: truncate(content.text, maxCharacters.plivo.text) }),
        timeoutMs: timeout_ms,
        secrets: [auth_token, toBase64(`${auth_id}:${auth_token}`)],
        id: ({ json }) => pick(json, 'message_uuid', 0),
        errorText: ({ json }) => pick(json, 'error'),
        classify,
      }),
    );
  },
};

/** A response may list the number as invalid, and no message. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const { message_uuid, invalid_number } = (json ?? {}) as { message_uuid?: unknown; invalid_number?: unknown };
  if (status >= 300 || !Array.isArray(message_uuid) || message_uuid.length > 0) return undefined;
  const isInvalid = Array.isArray(invalid_number) && invalid_number.length > 0;
  const reason = isInvalid ? 'the number is invalid' : 'Plivo queued no message';
  return { retry: false, ...(isInvalid && { gone: true }), reason };
}
