/** https://developers.google.com/workspace/chat/quickstart/webhooks */
import type { Content } from '../../core/render/render.ts';
import { headingOf, paragraphs, truncateBytes } from '../chat-text.ts';
import { secretPartsOf, secretUrl, TimeoutMs } from '../fields.ts';
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const Settings = settings({
  url: secretUrl('The webhook URL, from Apps & integrations in the settings of the space.'),
  timeout_ms: TimeoutMs,
});

/** The limit is 32,000 bytes for the whole message. */
const maxBytes = 31_000;

export const googleChat: Provider<typeof Settings> = {
  name: 'google-chat',
  title: 'Google Chat webhook',
  medium: 'chat',
  summary: 'Posts to one space of Google Chat.',
  settings: Settings,
  dedupes: false,
  reads: 'text',
  reach: () => 'room',
  open({ url, timeout_ms }, { outbound }) {
    const secrets = secretPartsOf(url);
    return httpSender(({ content }) =>
      sendHttp(outbound, {
        url,
        headers: { 'content-type': 'application/json; charset=UTF-8' },
        body: JSON.stringify({ text: truncateBytes(toText(content), maxBytes) }),
        timeoutMs: timeout_ms,
        secrets,
        id: ({ json }) => pick(json, 'name'),
        errorText: ({ json }) => pick(json, 'error', 'message'),
      }),
    );
  },
};

/** An angle bracket starts a link or a mention, such as <users/all>. */
function toText(content: Content): string {
  const plain = (text: string) => text.replaceAll('<', '<\u200b');
  const heading = plain(headingOf(content)).replaceAll('*', '');
  return paragraphs(heading && `*${heading}*`, plain(content.text));
}
