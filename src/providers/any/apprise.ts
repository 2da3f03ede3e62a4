/** https://github.com/caronc/apprise-api: a server that passes messages on to the services that Apprise supports. */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import type { Content } from '../../core/render/render.ts';
import { breakMentions, headingOf } from '../chat-text.ts';
import { join, serverUrl, TimeoutMs } from '../fields.ts';
import { basic, field, requestSender } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';

const Settings = settings(
  {
    server_url: serverUrl('The URL of your Apprise API server.', 'https://apprise.acme.test'),
    config_key: Type.String({
      secret: true,
      pattern: '^[A-Za-z0-9_-]{1,128}$',
      patternHint: 'must be up to 128 letters, digits, dashes and underscores',
      description: 'The key of a configuration on the server, which lists the services. It is part of the URL.',
    }),
    tag: optionalString({
      minLength: 1,
      maxLength: 256,
      description: 'Only services with these tags: a comma means or, a space means and. Default: all.',
    }),
    type: Type.Optional(
      Type.Enum(['info', 'success', 'warning', 'failure'], { description: 'The kind of message. Default: info.' }),
    ),
    user: optionalString({ minLength: 1, maxLength: 256, description: 'The user name, if the server requires one.' }),
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

export const apprise: Provider<typeof Settings> = {
  name: 'apprise',
  title: 'Apprise',
  medium: 'any',
  summary: 'Hands messages to an Apprise API server, which supports more than 150 services.',
  settings: Settings,
  credential: { name: 'user or password', hint: 'check what the Apprise server expects' },
  shows: ['formatting'],
  reach: () => 'room',
  open: requestSender(({ content }, { server_url, config_key, tag, type = 'info', user, password }) => {
    const auth = user && password ? basic(user, password) : undefined;
    return {
      url: join(server_url, `/notify/${config_key}`),
      headers: { ...auth?.headers, accept: 'application/json' },
      json: { ...toBody(content), type, tag },
      secrets: [config_key, ...(auth?.secrets ?? [])],
      errorText: field('error'),
      classify: ({ status }) => {
        if (status === 204) return { retry: false, reason: 'there is no configuration with this key' };
        // One of the services failed, and others may have sent the message: to repeat it would send it twice.
        return status === 424 ? { retry: false } : undefined;
      },
    };
  }),
};

function toBody(content: Content): object {
  const title = breakMentions(headingOf(content)) || undefined;
  return content.html !== undefined
    ? { title, body: breakMentionsInHtml(content.html), format: 'html' }
    : { title, body: breakMentions(content.text || content.title), format: 'text' };
}

/** Apprise turns the HTML into text for services that read an @ as a mention. Styles have their own. */
function breakMentionsInHtml(html: string): string {
  return html
    .split(/(<style[^>]*>[^<]*<\/style>|<[^>]*>)/i)
    .map((piece, i) => (i % 2 === 1 ? piece : breakMentions(piece)))
    .join('');
}
