/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html */
import { AwsV4Signer } from 'aws4fetch';
import { encodeWord } from 'nodemailer/lib/mime-funcs';
import { Type } from 'typebox';
import { type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const Settings = settings({
  region: Type.String({
    pattern: '^[a-z]{2}(-[a-z]+)+-\\d+$',
    patternHint: 'must be a region such as eu-central-1',
    description: 'The AWS region of the sending identity, such as eu-central-1.',
    examples: ['eu-central-1'],
  }),
  access_key_id: Type.String({
    minLength: 16,
    maxLength: 128,
    pattern: '^\\w+$',
    patternHint: 'must be letters and digits',
    description: 'The access key ID of a user with the permission ses:SendEmail.',
    examples: ['AKIAIOSFODNN7EXAMPLE'],
  }),
  secret_access_key: email.secretKey('The secret access key.'),
  session_token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[!-~]+$',
      patternHint: 'must not contain spaces',
      secret: true,
      description: 'Only for temporary credentials.',
    }),
  ),
  configuration_set: Type.Optional(
    Type.String({
      maxLength: 64,
      pattern: '^[A-Za-z0-9_-]+$',
      patternHint: 'must be letters, digits, dashes and underscores',
      description: 'The configuration set to use. Default: the identity’s own, if it has one.',
    }),
  ),
  from: email.From,
  reply_to: email.ReplyTo,
  endpoint: email.endpoint('the region’s'),
  timeout_ms: email.TimeoutMs,
});

export const ses: Provider<typeof Settings> = {
  name: 'ses',
  title: 'Amazon SES',
  medium: 'email',
  summary: 'Email through Amazon Simple Email Service.',
  settings: Settings,
  dedupes: false,
  open(options, { outbound }) {
    const { region, access_key_id, secret_access_key, session_token, configuration_set, from, reply_to } = options;
    const url = email.join(options.endpoint ?? `https://email.${region}.amazonaws.com`, '/v2/email/outbound-emails');
    const sender = encodeMailbox(from);
    const replyTo = reply_to && encodeMailbox(reply_to);
    return httpSender(async outgoing => {
      const { text, html } = email.bodies(outgoing);
      const labels = { ...outgoing.tags, belfry_id: outgoing.id };
      const body = JSON.stringify({
        FromEmailAddress: sender,
        Destination: { ToAddresses: [outgoing.address] },
        ...(replyTo && { ReplyToAddresses: [replyTo] }),
        Content: {
          Simple: {
            Subject: utf8(outgoing.content.title),
            ...(outgoing.unsubscribeUrl !== undefined && {
              Headers: Object.entries(email.unsubscribeHeaders(outgoing)).map(([Name, Value]) => ({ Name, Value })),
            }),
            Body: { ...(text && { Text: utf8(text) }), ...(html && { Html: utf8(html) }) },
          },
        },
        EmailTags: Object.entries(labels).map(([Name, value]) => ({ Name, Value: email.toLabel(value) })),
        ...(configuration_set && { ConfigurationSetName: configuration_set }),
      });
      const signer = new AwsV4Signer({
        url,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
        accessKeyId: access_key_id,
        secretAccessKey: secret_access_key,
        sessionToken: session_token,
        service: 'ses',
        region,
      });
      const signed = await signer.sign();
      return sendHttp(outbound, {
        url,
        headers: Object.fromEntries(signed.headers),
        body,
        timeoutMs: options.timeout_ms,
        secrets: [secret_access_key, session_token, signed.headers.get('authorization') ?? undefined],
        id: ({ json }) => pick(json, 'MessageId'),
        errorText: ({ json, headers }) => pick(json, 'message') ?? pick(json, 'Message') ?? headers['x-amzn-errortype'],
        classify: classify,
      });
    });
  },
};

/** Throttling may also be reported as a 400, recognizable only by the name of the error. */
function classify({ status, headers, json }: ProviderAnswer) {
  const name = headers['x-amzn-errortype'] ?? pick(json, '__type') ?? '';
  return status >= 400 && /Throttl|TooManyRequests/.test(name) ? { retry: true } : undefined;
}

function utf8(text: string): { Data: string; Charset: string } {
  return { Data: text, Charset: 'UTF-8' };
}

/** SES accepts only ASCII in address fields, so other names are encoded by RFC 2047. */
function encodeMailbox(mailbox: string): string {
  const { name, address } = email.toMailbox(mailbox);
  if (!name) return address;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant.
  if (!/^[\x00-\x7f]*$/.test(name)) return `${encodeWord(name, 'B')} <${address}>`;
  return `"${name.replace(/["\\]/g, '\\$&')}" <${address}>`;
}
