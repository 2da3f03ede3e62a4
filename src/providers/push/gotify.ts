/** https://gotify.net/api-docs#/message/createMessage */
import { optionalInteger } from '../../core/optional.ts';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { field, pick, requestSender } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { toTitleAndText } from './message.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Gotify server.', 'https://gotify.acme.test'),
  token: secretKey('The token of the application that messages appear under.'),
  priority: optionalInteger({
    minimum: 0,
    maximum: 10,
    description: 'From 0 to 10. Default: the priority of the application.',
  }),
  timeout_ms: TimeoutMs,
});

export const gotify: Provider<typeof Settings> = {
  name: 'gotify',
  title: 'Gotify',
  medium: 'push',
  summary: 'Notifications through your own Gotify server, to the devices of one user.',
  settings: Settings,
  credential: { name: 'token', hint: 'copy that of the application; the token of a client cannot send' },
  reads: 'text',
  reach: () => 'room',
  open: requestSender(({ id, content }, { server_url, token, priority }) => {
    const { title, text } = toTitleAndText(id, content);
    return {
      url: join(server_url, '/message'),
      headers: { 'x-gotify-key': token },
      json: { title: title || undefined, message: text, priority },
      secrets: [token],
      id: field('id'),
      errorText: ({ json }) => pick(json, 'errorDescription') ?? pick(json, 'error'),
      classify: ({ status }) => (status === 403 ? { retry: false, denied: true } : undefined),
    };
  }),
};
