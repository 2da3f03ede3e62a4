/** https://docs.ntfy.sh/publish/#publish-as-json */
import { Type } from 'typebox';
import type { Button } from '../../core/message/buttons.ts';
import { optionalInteger, optionalString } from '../../core/optional.ts';
import { truncateBytes } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import { bearer, field, type HttpSend, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender, type Outgoing } from '../sending.ts';
import { toTitleAndText } from './message.ts';

const defaultEndpoint = 'https://ntfy.sh';

const topicPattern = /^[-_A-Za-z0-9]{1,64}$/;

const Settings = settings({
  token: Type.Optional(secretKey('An access token, tk_…, if the topic is protected.')),
  topic: optionalString({
    pattern: topicPattern.source,
    patternHint: 'must be up to 64 letters, digits, dashes and underscores',
    description: 'The topic to publish to. Default: the `push` address of each recipient.',
  }),
  priority: optionalInteger({ minimum: 1, maximum: 5, description: 'From 1 (silent) to 5 (urgent). Default: 3.' }),
  endpoint: endpoint(defaultEndpoint, 'your own server'),
  timeout_ms: TimeoutMs,
});

const maxActions = 3;
/** Makes no sound. */
const updatePriority = 2;

export const ntfy: Provider<typeof Settings> = {
  name: 'ntfy',
  title: 'ntfy',
  medium: 'push',
  summary: 'Notifications through ntfy.sh or your own ntfy server. The address is a topic.',
  settings: Settings,
  credential: { name: 'access token', hint: 'create one for a user who may write to the topic' },
  shows: ['buttons', 'images'],
  updates: ['update', 'retract'],
  reads: 'text',
  reach: ({ topic }) => (topic ? 'room' : 'address'),
  accepts: (address, { topic }) => topic !== undefined || topicPattern.test(address),
  open({ token, topic, priority, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const call = (path: string, more: Partial<HttpSend>) =>
      sendHttp(outbound, {
        url: join(endpoint, path),
        ...(token && bearer(token)),
        timeoutMs: timeout_ms,
        id: field('id'),
        errorText: field('error'),
        // 403: the token may not write to the topic.
        classify: ({ status }) => (status === 403 ? { retry: false, denied: true } : undefined),
        ...more,
      });
    const publish = (
      {
        id,
        address,
        content,
        buttons,
        acknowledgeUrl,
      }: Pick<Outgoing, 'id' | 'address' | 'content' | 'buttons' | 'acknowledgeUrl'>,
      more: object = {},
    ) => {
      const { title, text } = toTitleAndText(id, content);
      return call('/', {
        json: {
          topic: topic ?? address,
          title: title || undefined,
          message: truncateBytes(text, maxBytes.ntfy.text),
          priority,
          icon: content.avatar,
          ...toActions(buttons ?? content.actions, acknowledgeUrl),
          ...more,
        },
      });
    };
    return httpSender(outgoing => publish(outgoing), {
      // Replaces the notification without another sound. A server before 2.16 shows it as another one.
      update: sent => publish(sent, { sequence_id: sent.messageId, priority: updatePriority }),
      retract: ({ address, messageId }) =>
        call(`/${encodeURIComponent(topic ?? address)}/${encodeURIComponent(messageId)}`, { method: 'DELETE' }),
    });
  },
};

/** Buttons that acknowledge or open a page. Others would need the credentials of a recipient. */
function toActions(buttons: readonly Pick<Button, 'label' | 'url'>[] = [], acknowledgeUrl: string | undefined): object {
  const usable = buttons.filter(({ url }) => url !== undefined).slice(0, maxActions);
  if (usable.length === 0) return {};
  return {
    actions: usable.map(({ label, url }) =>
      url === acknowledgeUrl
        ? { action: 'http', label, url, method: 'POST', clear: true }
        : { action: 'view', label, url },
    ),
  };
}
