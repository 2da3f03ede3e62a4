/** https://developers.google.com/workspace/chat/quickstart/webhooks */
import type { Content } from '../../core/render/render.ts';
import { headingOf, paragraphs, truncateBytes } from '../chat-text.ts';
import { secretPartsOf, secretUrl, TimeoutMs } from '../fields.ts';
import { field, pick, requestSender } from '../http-outcome.ts';
import { type ShownButton, shownButtons } from '../interactions.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';

const Settings = settings({
  url: secretUrl('The webhook URL, from Apps & integrations in the settings of the space.'),
  timeout_ms: TimeoutMs,
});

export const googleChat: Provider<typeof Settings> = {
  name: 'google-chat',
  title: 'Google Chat webhook',
  medium: 'chat',
  summary: 'Posts to one space of Google Chat.',
  settings: Settings,
  credential: { name: 'webhook URL', hint: 'create one under Apps & integrations in the settings of the space' },
  shows: ['buttons'],
  reads: 'text',
  reach: () => 'room',
  open: requestSender(({ content, buttons }, { url }) => {
    const card = toCard(shownButtons(buttons, { callbacks: false, maxLabel: 75 }));
    const maxTextBytes = maxBytes.googleChat.text - Buffer.byteLength(card ? JSON.stringify(card) : '');
    return {
      url,
      headers: { 'content-type': 'application/json; charset=UTF-8' },
      json: { text: truncateBytes(toText(content), maxTextBytes), ...card },
      secrets: secretPartsOf(url),
      id: field('name'),
      errorText: field('error', 'message'),
      // The key or the token of the URL is wrong, or webhooks are switched off.
      classify: ({ status, json }) =>
        status === 403 || pick(json, 'error', 'status') === 'PERMISSION_DENIED'
          ? { retry: false, denied: true }
          : undefined,
    };
  }),
};

/** An angle bracket starts a link or a mention, such as <users/all>. */
function toText(content: Content): string {
  const plain = (text: string) => text.replaceAll('<', '<\u200b');
  const heading = plain(headingOf(content)).replaceAll('*', '');
  return paragraphs(heading && `*${heading}*`, plain(content.text));
}

/** https://developers.google.com/workspace/chat/api/reference/rest/v1/cards#buttonlist. A webhook receives no clicks, so buttons open pages. */
function toCard(buttons: readonly ShownButton[]): object | undefined {
  if (buttons.length === 0) return undefined;
  const list = buttons.map(({ label, url }) => ({ text: label, onClick: { openLink: { url } } }));
  return { cardsV2: [{ cardId: 'actions', card: { sections: [{ widgets: [{ buttonList: { buttons: list } }] }] } }] };
}
