/** https://www.plivo.com/docs/messaging/api/messages/#send-a-message */
import { type Static, Type } from 'typebox';
import { truncate } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import {
  basic,
  type Failure,
  field,
  type HttpSend,
  type ProviderAnswer,
  requestSender,
  sendHttp,
} from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';

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
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '/'), method: 'GET' }),
  open: requestSender(({ address, content }, options) => ({
    ...toRequest(options, '/Message/'),
    json: { src: options.from, dst: address, text: truncate(content.text, maxCharacters.plivo.text) },
    id: field('message_uuid', 0),
    classify,
  })),
};

function toRequest(options: Static<typeof Settings>, path: string): HttpSend {
  const { auth_id, auth_token, endpoint = defaultEndpoint, timeout_ms } = options;
  return {
    ...basic(auth_id, auth_token),
    url: join(endpoint, `/v1/Account/${auth_id}${path}`),
    timeoutMs: timeout_ms,
    errorText: field('error'),
  };
}

/** A response may list the number as invalid, and no message. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const { message_uuid, invalid_number } = (json ?? {}) as { message_uuid?: unknown; invalid_number?: unknown };
  if (status >= 300 || !Array.isArray(message_uuid) || message_uuid.length > 0) return undefined;
  const isInvalid = Array.isArray(invalid_number) && invalid_number.length > 0;
  const reason = isInvalid ? 'the number is invalid' : 'Plivo queued no message';
  return { retry: false, ...(isInvalid && { gone: true }), reason };
}
