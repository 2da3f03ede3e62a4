/** https://bbernhard.github.io/signal-cli-rest-api/, POST /v2/send: a server that runs signal-cli for your number. */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { toPlainText } from '../chat-text.ts';
import { join, serverUrl, TimeoutMs } from '../fields.ts';
import { basic, field, pick, requestSender } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';

const Settings = settings(
  {
    server_url: serverUrl('The URL of your signal-cli-rest-api server.', 'https://signal.acme.test'),
    from: Type.String({
      pattern: '^\\+[0-9]{5,15}$',
      patternHint: 'must be a number such as +15555550100',
      description: 'The number that is registered with Signal.',
      examples: ['+15555550100'],
    }),
    to: optionalString({
      minLength: 1,
      maxLength: 256,
      description: 'A number or the ID of a group, group.…. Default: the `chat` address of each recipient.',
    }),
    user: optionalString({
      minLength: 1,
      maxLength: 256,
      description: 'The user name, if a proxy in front of the server requires one. The server itself has none.',
    }),
    password: optionalString({
      secret: true,
      minLength: 1,
      maxLength: 256,
      description: 'The password for this user.',
    }),
    timeout_ms: TimeoutMs,
  },
  { dependentRequired: { user: ['password'], password: ['user'] } },
);

export const signal: Provider<typeof Settings> = {
  name: 'signal',
  title: 'Signal',
  medium: 'chat',
  summary: 'Signal messages through your own signal-cli server. The address is a phone number or the ID of a group.',
  settings: Settings,
  credential: { name: 'user or password', hint: 'check what the proxy in front of the Signal API expects' },
  reads: 'text',
  reach: ({ to }) => (to ? 'room' : 'address'),
  open: requestSender(({ address, content }, { server_url, from, to, user, password }) => ({
    url: join(server_url, '/v2/send'),
    ...(user && password && basic(user, password)),
    json: { message: toPlainText(content), number: from, recipients: [to ?? address] },
    id: field('timestamp'),
    errorText: field('error'),
    // signal-cli's own text is the only sign of a number without Signal.
    classify: ({ status, json }) =>
      status === 400 && /unregistered user/i.test(pick(json, 'error') ?? '') ? { retry: false, gone: true } : undefined,
  })),
};
