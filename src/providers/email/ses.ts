/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html */
import { encodeWord } from 'nodemailer/lib/mime-funcs';
import { optionalString } from '../../core/optional.ts';
import {
  awsDependencies,
  awsSettings,
  awsUrlOf,
  deniedErrors,
  findAwsCredentials,
  findAwsMistakes,
  signAws,
} from '../aws.ts';
import { hashPieces, jsonFiles, withFiles } from '../http-files.ts';
import { type ProviderAnswer, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import * as email from './message.ts';

const Settings = settings(
  {
    ...awsSettings('ses:SendEmail', ' of the sending identity'),
    configuration_set: optionalString({
      maxLength: 64,
      pattern: '^[A-Za-z0-9_-]+$',
      patternHint: 'must be letters, digits, dashes and underscores',
      description: 'The configuration set to use. Default: the identity’s own, if it has one.',
    }),
    from: email.From,
    reply_to: email.ReplyTo,
    endpoint: email.endpoint('the region’s'),
    topic_arn: optionalString({
      maxLength: 512,
      pattern: '^arn:aws[a-z-]*:sns:[a-z0-9-]+:\\d{12}:[A-Za-z0-9_-]+(\\.fifo)?$',
      patternHint: 'must be an ARN such as arn:aws:sns:eu-central-1:123456789012:belfry',
      description: 'The ARN of the SNS topic that SES publishes events to. Requests of other topics are refused.',
    }),
    timeout_ms: email.TimeoutMs,
  },
  { dependentRequired: awsDependencies },
);

export const ses: Provider<typeof Settings> = {
  name: 'ses',
  title: 'Amazon SES',
  medium: 'email',
  summary: 'Email through Amazon Simple Email Service.',
  settings: Settings,
  credential: {
    name: 'access key',
    hint: 'create one in IAM for a user who may call ses:SendEmail, and check the region',
    fields: ['access_key_id', 'secret_access_key'],
  },
  attaches: true,
  feedback: ({ topic_arn }) => ({ service: 'ses', secret: topic_arn }),
  findMistakes: findAwsMistakes,
  open(options, tools) {
    const { configuration_set, from, reply_to } = options;
    const url = email.join(awsUrlOf(options, tools, 'sesv2'), '/v2/email/outbound-emails');
    const sender = encodeMailbox(from);
    const mailbox = email.toMailbox(from);
    const replyTo = reply_to && encodeMailbox(reply_to);
    return httpSender(async outgoing => {
      const { text, html } = email.bodies(outgoing);
      const files = await jsonFiles(outgoing);
      const labels = { ...outgoing.tags, belfry_id: outgoing.id };
      const json = JSON.stringify({
        FromEmailAddress: sender,
        Destination: { ToAddresses: [outgoing.address] },
        ...(replyTo && { ReplyToAddresses: [replyTo] }),
        Content: {
          Simple: {
            Subject: utf8(outgoing.content.title),
            Headers: Object.entries(email.headersOf(outgoing, mailbox)).map(([Name, Value]) => ({ Name, Value })),
            Body: { ...(text && { Text: utf8(text) }), ...(html && { Html: utf8(html) }) },
            ...(files.length > 0 && {
              Attachments: files.map(({ name, contentType, contentId, content }) => ({
                FileName: name,
                RawContent: content,
                ContentType: contentType,
                ContentTransferEncoding: 'BASE64',
                ...(contentId === undefined
                  ? { ContentDisposition: 'ATTACHMENT' }
                  : { ContentDisposition: 'INLINE', ContentId: contentId }),
              })),
            }),
          },
        },
        EmailTags: Object.entries(labels).map(([Name, value]) => ({ Name, Value: email.toLabel(value) })),
        ...(configuration_set && { ConfigurationSetName: configuration_set }),
      });
      const body = withFiles(json, files);
      const signed = typeof body === 'string' ? { body } : { bodyHash: await hashPieces(body) };
      const credentials = await findAwsCredentials(options, tools, outgoing.tags.organization);
      if ('ok' in credentials) return credentials;
      const { headers, secrets } = signAws(
        { service: 'ses', url, contentType: 'application/json', ...signed },
        credentials,
      );
      return sendHttp(tools.outbound, {
        url,
        headers,
        body,
        timeoutMs: options.timeout_ms,
        secrets,
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
  if (status < 400) return undefined;
  if (deniedErrors.test(name)) return { retry: false, denied: true as const };
  return /Throttl|TooManyRequests/.test(name) ? { retry: true } : undefined;
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
