/**
 * Any SMS gateway with an HTTP API, described by templates. A placeholder is replaced by its value in the encoding of its
 * place, in a single pass, so that no value can add a field, a header or another placeholder.
 */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { secretKey, TimeoutMs } from '../fields.ts';
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const placeholders = '{to}, {from}, {text}, {id} and {secret}';

/** Headers that the HTTP client sets. */
const reservedHeaders = 'host|content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer';

const Settings = settings({
  url: Type.String({
    destination: true,
    maxLength: 2048,
    // The host is fixed: an address must not decide where the secret goes.
    pattern: '^https?://[^\\s/?#@{}]+([/?]\\S*)?$',
    format: 'url',
    patternHint: 'must be an http or https URL with a fixed host and without a user name',
    description: `The URL of the gateway. It may contain ${placeholders}.`,
    examples: ['https://gateway.acme.test/send'],
  }),
  method: Type.Optional(Type.Enum(['POST', 'PUT', 'GET'], { description: 'The HTTP method. Default: POST.' })),
  format: Type.Optional(Type.Enum(['json', 'form', 'text'], { description: 'The format of the body. Default: json.' })),
  body: optionalString({
    maxLength: 4096,
    description: `The body, with ${placeholders}. Default: to, from and text in the format. A GET has no body.`,
  }),
  headers: Type.Optional(
    Type.Record(
      Type.String({ pattern: `^(?!(?:${reservedHeaders})$)[a-z0-9-]{1,64}$` }),
      Type.String({ maxLength: 1024, pattern: '^[ -~]*$', patternHint: 'must be one line of ASCII' }),
      {
        additionalProperties: false,
        destination: true,
        maxProperties: 20,
        description: `Further headers, in lower case, such as authorization: Bearer {secret}. They may contain ${placeholders}.`,
      },
    ),
  ),
  secret: Type.Optional(secretKey('The key or password of the gateway, for {secret}.')),
  from: optionalString({ minLength: 1, maxLength: 64, description: 'The sender, for {from}.' }),
  success_text: optionalString({
    minLength: 1,
    maxLength: 256,
    description: 'What a successful response contains. Default: every status from 200 to 299 is a success.',
  }),
  id_path: optionalString({
    maxLength: 256,
    pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$',
    patternHint: 'must be names and numbers with dots between them, such as messages.0.id',
    description: 'Where the JSON of the response has the ID of the message, such as messages.0.id. Default: none.',
  }),
  timeout_ms: TimeoutMs,
});

const defaultBodies = {
  json: '{"to":"{to}","from":"{from}","text":"{text}"}',
  form: 'to={to}&from={from}&text={text}',
  text: '{text}',
} as const;
const contentTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain; charset=utf-8',
} as const;
const encoders = {
  json: (value: string) => JSON.stringify(value).slice(1, -1),
  form: encodeURIComponent,
  text: (value: string) => value,
} as const;

export const smsGateway: Provider<typeof Settings> = {
  name: 'sms-gateway',
  title: 'HTTP gateway',
  medium: 'sms',
  summary: 'Text messages through any gateway with an HTTP API.',
  settings: Settings,
  credential: { name: 'secret', hint: 'check what the gateway expects in its requests' },
  open(options, { outbound }) {
    const { url, method = 'POST', format = 'json', headers = {}, secret, from, success_text, id_path } = options;
    const template = options.body ?? defaultBodies[format];
    return httpSender(async ({ id, address, content }) => {
      const values = { to: address, from: from ?? '', text: content.text, id, secret: secret ?? '' };
      const body = fill(template, values, encoders[format]);
      if (method !== 'GET' && format === 'json' && !isJson(body)) {
        return { ok: false, retry: false, reason: 'the body is not valid JSON: check its template' };
      }
      const filled = Object.entries(headers).map(([name, value]) => [name, fill(value, values, toHeader)]);
      return sendHttp(outbound, {
        method,
        url: fill(url, values, encodeURIComponent),
        headers: { ...(method !== 'GET' && { 'content-type': contentTypes[format] }), ...Object.fromEntries(filled) },
        ...(method !== 'GET' && { body }),
        timeoutMs: options.timeout_ms,
        secrets: [secret],
        id: ({ json }) => (id_path ? pick(json, ...id_path.split('.')) : undefined),
        classify: ({ status, text }) => {
          if (status >= 300 || success_text === undefined || text.includes(success_text)) return undefined;
          return { retry: false, reason: text };
        },
      });
    });
  },
};

function fill(template: string, values: Record<string, string>, encode: (value: string) => string): string {
  return template.replace(/\{(to|from|text|id|secret)\}/g, (_, name: string) => encode(values[name]!));
}

/** A header is one line of ASCII. */
function toHeader(value: string): string {
  return value.replace(/[^ -~]+/g, ' ');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
