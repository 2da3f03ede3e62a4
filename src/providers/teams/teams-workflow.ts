/** A workflow that starts with "When a Teams webhook request is received" and posts the card it gets. */
import type { Content } from '../../core/render/render.ts';
import { partsOfUrl, secretUrl, TimeoutMs } from '../fields.ts';
import { pick, sendHttp } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({
  url: secretUrl('The address that Teams shows when the workflow is made. It decides who posts where.'),
  timeout_ms: TimeoutMs,
});

/** The workflow takes a larger one with thanks, and then fails out of our sight. */
const mostBytes = 28 * 1024;

export const teamsWorkflow: Provider<typeof Settings> = {
  name: 'teams-workflow',
  title: 'Teams workflow',
  medium: 'teams',
  summary: 'Posts to a chat or channel of Microsoft Teams.',
  settings: Settings,
  dedupes: false,
  reach: () => 'room',
  open({ url, timeout_ms }, { outbound }) {
    const secrets = partsOfUrl(url);
    return stateless(async ({ content }) => {
      const card = { contentType: 'application/vnd.microsoft.card.adaptive', content: content.card ?? plain(content) };
      const body = JSON.stringify({ type: 'message', attachments: [card] });
      if (Buffer.byteLength(body) > mostBytes) {
        return { ok: false, retry: false, reason: 'the card is larger than the 28 KB that Teams shows' };
      }
      return sendHttp(outbound, {
        url,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body,
        timeoutMs: timeout_ms,
        secrets,
        words: ({ json }) => pick(json, 'error', 'message'),
      });
    });
  },
};

function plain({ title, text }: Content): object {
  const block = (inner: string, weight: string) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: inner, weight }],
  });
  return {
    type: 'AdaptiveCard',
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    version: '1.5',
    body: [...(title ? [block(title, 'Bolder')] : []), ...(text ? [block(text, 'Default')] : [])],
  };
}
