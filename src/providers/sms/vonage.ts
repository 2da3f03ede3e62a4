/**
 * https://developer.vonage.com/en/api/messages, version 1. Unlike the older API at sms/json, its HTTP status says whether
 * the message was accepted, and errors are problem+json.
 */
import { type Static, Type } from 'typebox';
import { toTime } from '../../core/feedback/event.ts';
import { truncate } from '../chat-text.ts';
import { type Fields, isJson, parseObject, readForm } from '../feedback/payload.ts';
import { verifyVonage } from '../feedback/vonage.ts';
import { endpoint, join, statusCallback, TimeoutMs, webhookSecret } from '../fields.ts';
import { basic, field, pick, sendHttp } from '../http-outcome.ts';
import { answerTimeoutMs, nothingToSay } from '../interactions.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type Outcome, type Tools } from '../sending.ts';

const defaultEndpoint = 'https://api.nexmo.com';

const Settings = settings({
  api_key: Type.String({
    pattern: '^[A-Za-z0-9]{1,64}$',
    patternHint: 'must be letters and digits',
    description: 'The API key of the account, from the home page of the dashboard. It is not a secret.',
    examples: ['a1b2c3d4'],
  }),
  api_secret: Type.String({
    secret: true,
    minLength: 1,
    maxLength: 256,
    description: 'The API secret of the account.',
  }),
  from: Type.String({
    pattern: '^(\\+?[0-9]{3,15}|[A-Za-z0-9 ._-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, or a sender name of up to 11 characters',
    description: 'The sender: a phone number of the account, or a sender name if the country allows one.',
    examples: ['Acme'],
  }),
  endpoint: endpoint(defaultEndpoint, "a region's"),
  status_callback: statusCallback,
  webhook_secret: webhookSecret('The signature secret of the account, which signs webhooks (SHA-256 HMAC).'),
  timeout_ms: TimeoutMs,
});

/** The number is barred (1050), or cannot receive text messages (1430). */
const goneCodes = new Set(['1050', '1430']);
/** Throttled (1000), an internal error (1030), or the network is not reachable (1100). */
const retryCodes = new Set(['1000', '1030', '1100']);

export const vonage: Provider<typeof Settings> = {
  name: 'vonage',
  title: 'Vonage',
  medium: 'sms',
  summary: 'Text messages through the Vonage API, formerly Nexmo.',
  settings: Settings,
  credential: {
    name: 'API key or secret',
    hint: 'copy both from the API settings of the dashboard',
    fields: ['api_key', 'api_secret'],
  },
  // `client_ref` shows our id in Vonage's reports, but does not deduplicate.
  dedupes: false,
  feedback: ({ webhook_secret }) => ({ service: 'vonage', secret: webhook_secret }),
  /** https://developer.vonage.com/en/messages/concepts/inbound-messages. Replies need a number as the sender. */
  interactions: options => ({
    where: 'by SMS',
    setup: 'Enter it in the settings of the application or account, as the inbound URL of messages.',
    isReady: options.webhook_secret !== undefined,
    anyoneMayAct: false,
    verify: (request, { now }) => verifyVonage(request, options.webhook_secret ?? '', now),
    read(body) {
      const message: Fields = isJson(body) ? parseObject(body) : Object.fromEntries(readForm(body));
      const from = pick(message, 'from') ?? pick(message, 'msisdn');
      if (from === undefined) throw new Error('has no field from');
      const number = `+${withoutPlus(from)}`;
      const at = toTime(message.timestamp ?? message['message-timestamp']);
      const reply = pick(message, 'text') ?? '';
      // Vonage repeats a request for a day: by then, the reply must not acknowledge what was sent after it.
      return { reply, addresses: [number], name: number, ...(at && { repliedAt: new Date(at) }) };
    },
    /** The response cannot contain an answer. */
    async answer(text, { addresses: [to = ''] }, tools) {
      if (text !== undefined) await sendText({ ...options, timeout_ms: answerTimeoutMs }, tools, { to, text });
      return nothingToSay;
    },
  }),
  open: (options, tools) =>
    httpSender(({ id, address, content }) => sendText(options, tools, { to: address, text: content.text, id })),
};

function sendText(
  { api_key, api_secret, from, endpoint = defaultEndpoint, status_callback, timeout_ms }: Static<typeof Settings>,
  { outbound }: Tools,
  { to, text, id }: { to: string; text: string; id?: string },
): Promise<Outcome> {
  return sendHttp(outbound, {
    url: join(endpoint, '/v1/messages'),
    ...basic(api_key, api_secret),
    json: {
      message_type: 'text',
      channel: 'sms',
      to: withoutPlus(to),
      from: withoutPlus(from),
      text: truncate(text, maxCharacters.vonage.text),
      client_ref: id,
      ...(status_callback && id && { webhook_url: status_callback }),
    },
    timeoutMs: timeout_ms,
    id: field('message_uuid'),
    errorText: ({ json }) => [pick(json, 'title'), pick(json, 'detail')].filter(Boolean).join(': ') || undefined,
    classify: ({ status, json }) => {
      if (status < 300) return undefined;
      const code = pick(json, 'type')?.split('#')[1] ?? '';
      if (goneCodes.has(code)) return { retry: false, gone: true };
      return retryCodes.has(code) ? { retry: true } : undefined;
    },
  });
}

/** Vonage expects numbers that start with the country code, without + or 00. */
function withoutPlus(number: string): string {
  return number.replace(/^\+/, '');
}
