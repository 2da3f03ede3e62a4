/** https://www.twilio.com/docs/messaging/api/message-resource */
import { type Static, type TObject, Type } from 'typebox';
import { toMessageResponse } from '../../core/message/speech.ts';
import { optionalString } from '../../core/optional.ts';
import { truncate } from '../chat-text.ts';
import { readForm } from '../feedback/payload.ts';
import { verifyTwilio } from '../feedback/twilio.ts';
import { endpoint, join, statusCallback, TimeoutMs, webhookSecret } from '../fields.ts';
import {
  basic,
  type Failure,
  field,
  type HttpSend,
  type ProviderAnswer,
  pick,
  requestSender,
  sendHttp,
} from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import type { Tools } from '../sending.ts';

export const defaultEndpoint = 'https://api.twilio.com';

/** The account and its credentials, which text messages and calls share. */
export const twilioAccount = {
  account_sid: Type.String({
    pattern: '^AC[0-9a-fA-F]{32}$',
    patternHint: 'must be AC followed by 32 hexadecimal digits',
    description: 'The account SID, AC…, from the home page of the Twilio console.',
    examples: ['AC00000000000000000000000000000000'],
  }),
  api_key_sid: optionalString({
    pattern: '^SK[0-9a-fA-F]{32}$',
    patternHint: 'must be SK followed by 32 hexadecimal digits',
    description: 'The SID of an API key, SK…, to authenticate with. Default: the account SID.',
  }),
  auth_token: Type.String({
    secret: true,
    minLength: 1,
    maxLength: 128,
    description: 'The auth token of the account, or the secret of the API key if one is set.',
  }),
};

type Account = Static<TObject<typeof twilioAccount>> & { endpoint?: string; timeout_ms?: number };

/** Returns a request of one of the account's lists. */
export function toTwilioRequest(list: 'Messages.json' | 'Calls.json', account: Account): HttpSend {
  const { account_sid, api_key_sid = account_sid, auth_token, endpoint = defaultEndpoint, timeout_ms } = account;
  return {
    ...basic(api_key_sid, auth_token),
    url: join(endpoint, `/2010-04-01/Accounts/${account_sid}/${list}`),
    timeoutMs: timeout_ms,
  };
}

/** Asks for one entry of a list: an API key may read that, but not the account. */
export function checkAccount(list: 'Messages.json' | 'Calls.json', account: Account, { outbound }: Tools) {
  const request = toTwilioRequest(list, account);
  const url = `${request.url}?PageSize=1`;
  return sendHttp(outbound, { ...request, method: 'GET', url, errorText: field('message') });
}

const Settings = settings({
  ...twilioAccount,
  from: Type.String({
    pattern: '^(MG[0-9a-fA-F]{32}|\\+?[0-9]{3,15}|[A-Za-z0-9 +_&-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, a sender name of up to 11 characters, or MG…',
    description: 'The sender: a phone number or sender name of the account, or a messaging service, MG….',
    examples: ['+15555550100'],
  }),
  endpoint: endpoint(defaultEndpoint, "a region's"),
  status_callback: statusCallback,
  webhook_secret: webhookSecret(
    'The auth token of the account, which signs status callbacks. Default: auth_token, unless it is the secret of an API key.',
  ),
  timeout_ms: TimeoutMs,
});

/**
 * Errors of the phone number itself: it is invalid (21211), has unsubscribed (21610), cannot receive text messages (21614)
 * or is a landline (21635). All others may be fixed in the account.
 */
const goneCodes = new Set(['21211', '21610', '21614', '21635']);

/** Limits of the account (20429, 63017) and of the sender and its queue (21611, 30001, 30022). */
const limitCodes = new Set(['20429', '21611', '30001', '30022', '63017']);
/** 30 messages between the same two numbers within 30 seconds. */
const pairLimit = '14107';
const pairLimitSeconds = 30;

/** States of a message or call that was created, but is not sent. */
const unsentStates = new Set(['failed', 'undelivered', 'canceled']);

/** Returns the code and the text of an error, or of a message that was created in vain. */
export function errorTextOf({ json }: ProviderAnswer): string | undefined {
  const code = pick(json, 'code') ?? pick(json, 'error_code');
  return [code, pick(json, 'message') ?? pick(json, 'error_message')].filter(Boolean).join(' ') || undefined;
}

/** Classifies answers about messages and calls. `goneCodes` are errors of the phone number itself. */
export function classifyTwilio(
  { status, json }: ProviderAnswer,
  goneCodes: ReadonlySet<string>,
): Partial<Failure> | undefined {
  const code = pick(json, 'code') ?? pick(json, 'error_code') ?? '';
  if (goneCodes.has(code)) return { retry: false, gone: true };
  if (code === pairLimit) return { retry: true, retryAfterSeconds: pairLimitSeconds, ofRecipient: true };
  if (limitCodes.has(code)) return { retry: true };
  // The account SID, the key or the token is wrong; the status can be 403.
  if (code === '20003') return { retry: false, denied: true };
  const state = pick(json, 'status') ?? '';
  if (status >= 300 || !unsentStates.has(state)) return undefined;
  return { retry: false, reason: errorTextOf({ json } as ProviderAnswer) ?? `Twilio reports the state ${state}` };
}

export const twilio: Provider<typeof Settings> = {
  name: 'twilio',
  title: 'Twilio',
  medium: 'sms',
  summary: 'Text messages through the Twilio API.',
  settings: Settings,
  credential: {
    name: 'account SID or auth token',
    hint: 'copy both from the home page of the Twilio console',
    fields: ['account_sid', 'auth_token'],
  },
  // Twilio has no idempotency key for messages.
  dedupes: false,
  feedback: options => ({ service: 'twilio', secret: signingSecretOf(options) }),
  /** https://www.twilio.com/docs/messaging/guides/webhook-request */
  interactions: options => ({
    where: 'by SMS',
    setup: 'Enter it in the settings of the number or messaging service, as the webhook for incoming messages.',
    isReady: signingSecretOf(options) !== undefined,
    anyoneMayAct: false,
    // Twilio does not say when a message was received.
    verify(request) {
      const checked = verifyTwilio(request, signingSecretOf(options) ?? '');
      const signature = request.headers['x-twilio-signature']!;
      return checked.ok ? { ok: true, once: { signature, until: null } } : checked;
    },
    read(body) {
      const form = readForm(body);
      const [from, reply] = [form.get('From'), form.get('Body')];
      if (from === undefined) throw new Error('has no form field From');
      return { reply: reply ?? '', addresses: [from], name: from };
    },
    answer: async text => ({ contentType: 'text/xml; charset=utf-8', body: toMessageResponse(text) }),
  }),
  check: (account, tools) => checkAccount('Messages.json', account, tools),
  open: requestSender(({ address, content }, options) => {
    const { from, status_callback } = options;
    const sender = /^MG[0-9a-f]{32}$/i.test(from) ? 'MessagingServiceSid' : 'From';
    return {
      ...toTwilioRequest('Messages.json', options),
      form: {
        To: address,
        [sender]: from,
        Body: truncate(content.text, maxCharacters.twilio.text),
        ...(status_callback && { StatusCallback: status_callback }),
      },
      id: field('sid'),
      errorText: errorTextOf,
      classify: answer => classifyTwilio(answer, goneCodes),
    };
  }),
};

/** The auth token of the account signs requests, also if an API key is used to send. */
function signingSecretOf({ webhook_secret, api_key_sid, auth_token }: Static<typeof Settings>): string | undefined {
  return webhook_secret ?? (api_key_sid ? undefined : auth_token);
}
