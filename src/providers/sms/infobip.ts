/** https://www.infobip.com/docs/api/channels/sms/outbound-sms/send-sms-messages, version 3 */
import { Type } from 'typebox';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { type Failure, field, type ProviderAnswer, pick, requestSender } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';

const Settings = settings({
  base_url: serverUrl(
    'The base URL of your account, from the home page of the portal.',
    'https://xyz123.api.infobip.com',
  ),
  api_key: secretKey('An API key with the scope for sending SMS.'),
  from: Type.String({
    pattern: '^(\\+?[0-9]{3,15}|[A-Za-z0-9 ._-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, or a sender name of up to 11 characters',
    description: 'The sender: a number of the account, or a sender name if the country allows one.',
    examples: ['Acme'],
  }),
  timeout_ms: TimeoutMs,
});

export const infobip: Provider<typeof Settings> = {
  name: 'infobip',
  title: 'Infobip',
  medium: 'sms',
  summary: 'Text messages through the Infobip API.',
  settings: Settings,
  credential: {
    name: 'API key',
    hint: 'create one with the scope for sending SMS, and check that the base URL is your own',
  },
  open: requestSender(({ address, content }, { base_url, api_key, from }) => ({
    url: join(base_url, '/sms/3/messages'),
    headers: { authorization: `App ${api_key}`, accept: 'application/json' },
    json: {
      messages: [
        // Infobip expects numbers that start with the country code, without +.
        { sender: from, destinations: [{ to: address.replace(/^\+/, '') }], content: { text: content.text } },
      ],
    },
    secrets: [api_key],
    id: field('messages', 0, 'messageId'),
    errorText,
    classify,
  })),
};

/** Groups of states in which a message is not sent, https://www.infobip.com/docs/essentials/api-essentials/response-status-and-error-codes. */
const unsentGroups = new Set(['REJECTED', 'UNDELIVERABLE', 'EXPIRED']);
/** A fault of Infobip, and too many equal messages for now. */
const temporaryStates = new Set(['REJECTED_SYSTEM_ERROR', 'REJECTED_FLOODING_FILTER']);

/** A message can be rejected in a response with status 200. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const state = (field: string) => pick(json, 'messages', 0, 'status', field);
  const group = state('groupName') ?? '';
  if (status >= 300 || !unsentGroups.has(group)) return undefined;
  return { retry: temporaryStates.has(state('name') ?? ''), reason: state('description') ?? group };
}

function errorText({ json }: ProviderAnswer): string | undefined {
  return pick(json, 'description') ?? pick(json, 'requestError', 'serviceException', 'text');
}
