/** https://gotify.net/api-docs#/message/createMessage */
import { Type } from 'typebox';
import { join, secretKey, serverUrl, TimeoutMs } from '../fields.ts';
import { field, pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';
import { toTitleAndText } from './message.ts';

const Settings = settings({
  server_url: serverUrl('The URL of your Gotify server.', 'https://gotify.acme.test'),
  token: secretKey('The token of the application that messages appear under.'),
  priority: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10, description: 'From 0 to 10. Default: the priority of the application.' }),
  ),
  timeout_ms: TimeoutMs,
});

export const gotify: Provider<typeof Settings> = {
  name: 'gotify',
  title: 'Gotify',
  medium: 'push',
  summary: 'Notifications through your own Gotify server, to the devices of one user.',
  settings: Settings,
  credential: { name: 'token', hint: 'copy that of the application; the token of a client cannot send' },
  dedupes: false,
  reads: 'text',
  reach: () => 'room',
  open({ server_url, token, priority, timeout_ms }, { outbound }) {
    return httpSender(({ id, content }) => {
      const { title, text } = toTitleAndText(id, content);
      return sendHttp(outbound, {
        url: join(server_url, '/message'),
        headers: { 'x-gotify-key': token },
        json: { title: title || undefined, message: text, priority },
        timeoutMs: timeout_ms,
        secrets: [token],
        id: field('id'),
        errorText: ({ json }) => pick(json, 'errorDescription') ?? pick(json, 'error'),
        classify: ({ status }) => (status === 403 ? { retry: false, denied: true } : undefined),
      });
    });
  },
};
