/**
 * https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages. WhatsApp delivers free text only within 24 hours
 * of the recipient's last message; outside of that, only templates that Meta has approved.
 */
import { type Static, Type } from 'typebox';
import { isObject } from '../../core/json.ts';
import { optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { toPlainText, truncate } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs, webhookSecret } from '../fields.ts';
import { fileField, partFailure, toForm, uploadFailure } from '../http-files.ts';
import { bearer, type Failure, field, type HttpSend, type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { type Attachment, httpSender, type Outcome } from '../sending.ts';

const defaultEndpoint = 'https://graph.facebook.com/v23.0';

const Settings = settings({
  access_token: secretKey('A token of a system user with the permission whatsapp_business_messaging.'),
  phone_number_id: Type.String({
    pattern: '^[0-9]{5,20}$',
    patternHint: 'must be the ID of the number, not the number itself',
    description: 'The ID of the phone number that sends.',
    examples: ['106540352242922'],
  }),
  template: optionalString({
    pattern: '^[a-z0-9_]{1,512}$',
    patternHint: 'must be lower-case letters, digits and underscores',
    description:
      'An approved template with one parameter, which becomes the text of every message. Default: free text, within 24 hours of the recipient’s last message.',
  }),
  language: optionalString({
    pattern: '^[a-z]{2,3}(_[A-Z]{2})?$',
    patternHint: 'must be a language such as en or en_US',
    description: 'The language of templates whose message names none. Default: en_US.',
  }),
  webhook_secret: webhookSecret('The app secret, by which webhooks of Meta are recognized.'),
  endpoint: endpoint(defaultEndpoint, 'another version of the API'),
  timeout_ms: TimeoutMs,
});

const maxParameters = 50;

export const whatsapp: Provider<typeof Settings> = {
  name: 'whatsapp',
  title: 'WhatsApp Cloud API',
  medium: 'whatsapp',
  summary: 'WhatsApp messages through the API of Meta: approved templates, and free text within 24 hours.',
  settings: Settings,
  credential: {
    name: 'access token',
    hint: 'create one for a system user with the permission whatsapp_business_messaging',
  },
  attaches: true,
  reads: 'text',
  feedback: ({ webhook_secret }) => ({ service: 'whatsapp', secret: webhook_secret }),
  check: (options, { outbound }) => sendHttp(outbound, { ...toRequest(options, '?fields=id'), method: 'GET' }),
  open(options, { outbound }) {
    /** Returns the id of a file that has not been sent to anyone yet. */
    const upload = async (attachment: Attachment): Promise<Outcome> => {
      const { contentType, body } = toForm([
        ['messaging_product', 'whatsapp'],
        ['type', attachment.contentType],
        fileField('file', attachment),
      ]);
      const request = toRequest(options, '/media');
      const uploaded = await sendHttp(outbound, {
        ...request,
        headers: { ...request.headers, 'content-type': contentType },
        body,
        id: field('id'),
      });
      return uploaded.ok ? uploaded : uploadFailure(uploaded, attachment);
    };

    return httpSender(async ({ id, address, content, attachments = [] }) => {
      const post = (message: object) =>
        sendHttp(outbound, {
          ...toRequest(options, '/messages'),
          json: {
            messaging_product: 'whatsapp',
            recipient_type: 'individual',
            to: address,
            ...message,
            // Comes back in the status webhooks.
            biz_opaque_callback_data: id,
          },
          id: field('messages', 0, 'id'),
        });
      const files: Media[] = [];
      for (const attachment of attachments) {
        const uploaded = await upload(attachment);
        if (!uploaded.ok) return uploaded;
        files.push(toMedia(attachment, uploaded.id ?? ''));
      }
      const messages = addMedia(toMessage(content, options), files);
      if (!messages) return { ok: false, retry: false, reason: 'a template takes one file, in its header' };
      let first: Outcome | undefined;
      for (const message of messages) {
        const outcome = await post(message);
        if (!outcome.ok) return first ? partFailure(outcome) : outcome;
        first ??= outcome;
      }
      return first!;
    });
  },
};

function toRequest(options: Static<typeof Settings>, path: string): HttpSend {
  const { access_token, phone_number_id, endpoint = defaultEndpoint, timeout_ms } = options;
  const url = join(endpoint, `/${phone_number_id}${path}`);
  return { ...bearer(access_token), url, timeoutMs: timeout_ms, errorText, classify };
}

interface Media {
  type: 'image' | 'document';
  fields: { id: string; filename?: string };
}

type Message =
  | { type: 'text'; text: { preview_url: boolean; body: string } }
  | { type: 'template'; template: { components?: object[]; [field: string]: unknown } };

function toMedia({ name, contentType }: Attachment, id: string): Media {
  if (/^image\/(jpeg|png)$/.test(contentType)) return { type: 'image', fields: { id } };
  return { type: 'document', fields: { id, filename: name } };
}

/**
 * Returns the messages to send, or undefined if they are not possible. A template shows a file in its header, if it was
 * approved with one. A short text is the caption of the first file; each other file is a separate message.
 */
function addMedia(message: Message, files: readonly Media[]): object[] | undefined {
  const [first, ...others] = files;
  if (!first) return [message];
  const alone = ({ type, fields }: Media, caption?: string) => ({
    type,
    [type]: { ...fields, ...(caption && { caption }) },
  });
  if (message.type === 'text') {
    const { body } = message.text;
    if (body.length <= maxCharacters.whatsapp.caption) return [alone(first, body), ...others.map(file => alone(file))];
    return [message, ...files.map(file => alone(file))];
  }
  if (others.length > 0) return undefined;
  const header = { type: 'header', parameters: [alone(first)] };
  const { components = [], ...template } = message.template;
  return [{ type: 'template', template: { ...template, components: [header, ...components] } }];
}

/** A body that is JSON names a template and its parameters; any other is the parameter of the default template, or text. */
function toMessage(
  content: Content,
  defaults: { template?: string | undefined; language?: string | undefined },
): Message {
  const { data } = content;
  if (isObject(data) && typeof data.template === 'string') {
    const parameters = Array.isArray(data.parameters) ? data.parameters.slice(0, maxParameters) : [];
    const language = typeof data.language === 'string' ? data.language : defaults.language;
    return toTemplate(data.template, language, parameters.map(String));
  }
  const text = toPlainText(content);
  if (defaults.template) return toTemplate(defaults.template, defaults.language, [text]);
  return { type: 'text', text: { preview_url: false, body: truncate(text, maxCharacters.whatsapp.text) } };
}

function toTemplate(name: string, language = 'en_US', parameters: string[]): Message {
  // WhatsApp refuses line breaks, tabs and more than four spaces in a parameter, and an empty one.
  const line = (text: string) => truncate(text.replace(/\s+/g, ' ').trim(), maxCharacters.whatsapp.parameter) || '-';
  const body = { type: 'body', parameters: parameters.map(text => ({ type: 'text', text: line(text) })) };
  return {
    type: 'template',
    template: { name, language: { code: language }, ...(parameters.length > 0 && { components: [body] }) },
  };
}

function errorText({ json }: ProviderAnswer): string | undefined {
  const details = pick(json, 'error', 'error_data', 'details') ?? pick(json, 'error', 'message');
  return [pick(json, 'error', 'code'), details].filter(Boolean).join(' ') || undefined;
}

/** Rate limits of the app, the number and the pair of numbers, and outages. */
const retryCodes = new Set(['4', '80007', '130429', '131048', '131056', '131000', '131016', '133004', '2']);
/** Too many messages to this recipient. */
const pairLimit = '131056';
/** The token is wrong, has expired or lacks a permission. A locked account (131031) needs no other token. */
const deniedCodes = new Set(['0', '190', '3', '10', '131005']);

/** https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  const code = pick(json, 'error', 'code');
  if (status < 300 || code === undefined) return undefined;
  if (deniedCodes.has(code) || /^2\d\d$/.test(code)) return { retry: false, denied: true };
  if (retryCodes.has(code)) return { retry: true, ...(code === pairLimit && { ofRecipient: true }) };
  return code === '131047'
    ? { retry: false, reason: '131047 more than 24 hours have passed since the recipient wrote: send a template' }
    : undefined;
}
