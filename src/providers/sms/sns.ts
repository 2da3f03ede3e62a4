/** https://docs.aws.amazon.com/sns/latest/api/API_Publish.html, to a phone number. */
import { Type } from 'typebox';
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
import { truncate } from '../chat-text.ts';
import { endpoint as apiEndpoint, join, TimeoutMs } from '../fields.ts';
import { type Failure, type ProviderAnswer, sendHttp } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const Settings = settings(
  {
    ...awsSettings('sns:Publish', ''),
    sender_id: optionalString({
      pattern: '^[A-Za-z0-9-]{1,11}$',
      patternHint: 'must be up to 11 letters, digits and dashes',
      description: 'The sender name, if the country of the recipient allows one. Default: the account’s own.',
    }),
    origination_number: optionalString({
      pattern: '^\\+?[0-9]{3,15}$',
      patternHint: 'must be a number such as +15555550100',
      description: 'A phone number of the account to send from. Default: AWS chooses one.',
    }),
    sms_type: Type.Optional(
      Type.Enum(['Transactional', 'Promotional'], { description: 'The kind of messages. Default: Transactional.' }),
    ),
    endpoint: apiEndpoint('the region’s', 'that of a VPC endpoint'),
    timeout_ms: TimeoutMs,
  },
  { dependentRequired: awsDependencies },
);

const contentType = 'application/x-www-form-urlencoded; charset=utf-8';

export const sns: Provider<typeof Settings> = {
  name: 'sns',
  title: 'Amazon SNS',
  medium: 'sms',
  summary: 'Text messages through Amazon Simple Notification Service.',
  settings: Settings,
  credential: {
    name: 'access key',
    hint: 'create one in IAM for a user who may call sns:Publish, and check the region',
    fields: ['access_key_id', 'secret_access_key'],
  },
  findMistakes: findAwsMistakes,
  open(options, tools) {
    const { sender_id, origination_number, sms_type = 'Transactional', timeout_ms } = options;
    const url = join(awsUrlOf(options, tools, 'sns'), '/');
    const attributes = toAttributes({
      'AWS.SNS.SMS.SMSType': sms_type,
      'AWS.SNS.SMS.SenderID': sender_id,
      'AWS.MM.SMS.OriginationNumber': origination_number,
    });
    return httpSender(async ({ address, content, tags }) => {
      const message = truncate(content.text, maxCharacters.sns.text);
      const form = { Action: 'Publish', Version: '2010-03-31', PhoneNumber: address, Message: message };
      const body = new URLSearchParams({ ...form, ...attributes }).toString();
      const credentials = await findAwsCredentials(options, tools, tags.organization);
      if ('ok' in credentials) return credentials;
      const { headers, secrets } = signAws({ service: 'sns', url, contentType, body }, credentials);
      return sendHttp(tools.outbound, {
        url,
        headers,
        body,
        timeoutMs: timeout_ms,
        secrets,
        id: answer => element(answer, 'MessageId'),
        errorText: answer => element(answer, 'Message') ?? element(answer, 'Code'),
        classify,
      });
    });
  },
};

function toAttributes(values: Record<string, string | undefined>): Record<string, string> {
  const set = Object.entries(values).filter(([, value]) => value !== undefined) as [string, string][];
  const entries = set.flatMap(([name, value], index) => {
    const prefix = `MessageAttributes.entry.${index + 1}`;
    return [
      [`${prefix}.Name`, name],
      [`${prefix}.Value.DataType`, 'String'],
      [`${prefix}.Value.StringValue`, value],
    ];
  });
  return Object.fromEntries(entries);
}

/** Throttling may also be reported as a 400, recognizable only by the name of the error. */
function classify(answer: ProviderAnswer): Partial<Failure> | undefined {
  if (answer.status < 400) return undefined;
  const code = element(answer, 'Code') ?? '';
  if (/Throttl/.test(code)) return { retry: true };
  if (deniedErrors.test(code)) return { retry: false, denied: true };
  const isInvalid = /PhoneNumber Reason: .* not valid to publish to/i.test(element(answer, 'Message') ?? '');
  return code === 'OptedOut' || isInvalid ? { retry: false, gone: true } : undefined;
}

/** Responses are XML with one element of each name, without attributes. */
function element({ text }: ProviderAnswer, name: string): string | undefined {
  const [, value] = text.split(`<${name}>`, 2);
  return value?.split('<', 1)[0]?.trim() || undefined;
}
