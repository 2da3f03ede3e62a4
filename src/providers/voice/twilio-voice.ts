/** https://www.twilio.com/docs/voice/api/call-resource#create-a-call-resource */
import { Type } from 'typebox';
import { toQuestion, toSpeech } from '../../core/message/speech.ts';
import { optionalInteger } from '../../core/optional.ts';
import { toPlainText } from '../chat-text.ts';
import { endpoint, TimeoutMs } from '../fields.ts';
import { field, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { fitBody } from '../push/message.ts';
import { httpSender } from '../sending.ts';
import {
  checkAccount,
  classifyTwilio,
  defaultEndpoint,
  errorTextOf,
  toTwilioRequest,
  twilioAccount,
} from '../sms/twilio.ts';

const Settings = settings({
  ...twilioAccount,
  from: Type.String({
    pattern: '^\\+[0-9]{5,15}$',
    patternHint: 'must be a number such as +15555550100',
    description: 'The number that calls: a phone number of the account, or a verified caller ID.',
    examples: ['+15555550100'],
  }),
  ring_seconds: optionalInteger({
    minimum: 5,
    maximum: 600,
    description: 'How long the phone rings at most. Default: 60.',
  }),
  endpoint: endpoint(defaultEndpoint, "a region's"),
  timeout_ms: TimeoutMs,
});

/** Errors of the phone number itself. All others may be fixed in the account. */
const goneCodes = new Set(['21211', '21217']);

export const twilioVoice: Provider<typeof Settings> = {
  name: 'twilio-voice',
  title: 'Twilio Voice',
  medium: 'voice',
  summary: 'Phone calls that speak the message, through the Twilio API.',
  settings: Settings,
  credential: {
    name: 'account SID or auth token',
    hint: 'copy both from the home page of the Twilio console',
    fields: ['account_sid', 'auth_token'],
  },
  reads: 'text',
  check: (account, tools) => checkAccount('Calls.json', account, tools),
  open(options, { outbound }) {
    const { from, ring_seconds } = options;
    const request = toTwilioRequest('Calls.json', options);
    return httpSender(async ({ address, content, acknowledgeUrl, locale }) => {
      const speak = (text: string) =>
        acknowledgeUrl ? toQuestion(text, locale, `${acknowledgeUrl}/call`) : toSpeech(text, locale);
      const document = fitBody(toPlainText(content), maxBytes.twilioVoice.document, speak);
      if (!document) return { ok: false, retry: false, reason: 'the message is too long for a call' };
      const form = { To: address, From: from, Twiml: document, ...(ring_seconds && { Timeout: String(ring_seconds) }) };
      return sendHttp(outbound, {
        ...request,
        form,
        secrets: [...(request.secrets ?? []), acknowledgeUrl],
        id: field('sid'),
        errorText: errorTextOf,
        classify: answer => classifyTwilio(answer, goneCodes),
      });
    });
  },
};
