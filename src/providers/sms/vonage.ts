/**
 * https://developer.vonage.com/en/api/messages, version 1: the API that Vonage keeps adding to. Unlike the older one at
 * sms/json it says with the HTTP status whether it took the message, and why not as problem+json.
 */
import { Type } from 'typebox';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import { basic, pick, sendHttp, toBase64 } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const usual = 'https://api.nexmo.com';

const Settings = settings({
  api_key: Type.String({
    pattern: '^[A-Za-z0-9]{1,64}$',
    patternHint: 'must be letters and digits',
    description: 'The API key of the account, from the first page of the dashboard. It is a name, not a secret.',
    examples: ['a1b2c3d4'],
  }),
  api_secret: Type.String({ secret: true, minLength: 1, maxLength: 256, description: 'The API secret beside it.' }),
  from: Type.String({
    pattern: '^(\\+?[0-9]{3,15}|[A-Za-z0-9 ._-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, or a sender name of up to 11 characters',
    description: 'Who it comes from: a number of the account, or a sender name where the country allows one.',
    examples: ['Acme'],
  }),
  endpoint: endpoint(usual, 'that of one region'),
  timeout_ms: TimeoutMs,
});

/** The number is barred (1050), or none that can get text messages (1430). */
const goneCodes = new Set(['1050', '1430']);
/** Too fast (1000), broken at their end (1030), or not reachable behind it (1100). */
const retryCodes = new Set(['1000', '1030', '1100']);

export const vonage: Provider<typeof Settings> = {
  name: 'vonage',
  title: 'Vonage',
  medium: 'sms',
  summary: 'Text messages through the Vonage API, formerly Nexmo.',
  settings: Settings,
  // `client_ref` shows our id in their reports; a second message with the same one is sent all the same.
  dedupes: false,
  open({ api_key, api_secret, from, endpoint = usual, timeout_ms }, { outbound }) {
    return stateless(({ id, address, content }) =>
      sendHttp(outbound, {
        url: join(endpoint, '/v1/messages'),
        headers: { authorization: basic(api_key, api_secret), 'content-type': 'application/json' },
        body: JSON.stringify({
          message_type: 'text',
          channel: 'sms',
          to: withoutPlus(address),
          from: withoutPlus(from),
          text: content.text,
          client_ref: id,
        }),
        timeoutMs: timeout_ms,
        secrets: [api_secret, toBase64(`${api_key}:${api_secret}`)],
        id: ({ json }) => pick(json, 'message_uuid'),
        words: ({ json }) => [pick(json, 'title'), pick(json, 'detail')].filter(Boolean).join(': ') || undefined,
        sort: ({ status, json }) => {
          if (status < 300) return undefined;
          const code = pick(json, 'type')?.split('#')[1] ?? '';
          if (goneCodes.has(code)) return { retry: false, gone: true };
          return retryCodes.has(code) ? { retry: true } : undefined;
        },
      }),
    );
  },
};

/** Numbers here start with the country's code, without + or 00. */
function withoutPlus(number: string): string {
  return number.replace(/^\+/, '');
}
