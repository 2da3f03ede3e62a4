/** Posts to a workflow that starts with "When a Teams webhook request is received" and posts the card it receives. */
import type { Content } from '../../core/render/render.ts';
import { secretPartsOf, secretUrl, TimeoutMs } from '../fields.ts';
import { type Failure, field, type ProviderAnswer, sendHttp } from '../http-outcome.ts';
import { maxBytes } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { fitBody } from '../push/message.ts';
import { httpSender } from '../sending.ts';

const Settings = settings({
  url: secretUrl(
    'The URL that Teams shows when the workflow is created. The workflow decides where it posts, and as whom.',
  ),
  timeout_ms: TimeoutMs,
});

export const teamsWorkflow: Provider<typeof Settings> = {
  name: 'teams-workflow',
  title: 'Teams workflow',
  medium: 'teams',
  summary: 'Posts to a chat or channel of Microsoft Teams.',
  settings: Settings,
  credential: {
    name: 'webhook URL',
    hint: 'copy it from the trigger of the workflow, which anyone must be allowed to call',
  },
  shows: ['formatting'],
  reach: () => 'room',
  open({ url, timeout_ms }, { outbound }) {
    const secrets = secretPartsOf(url);
    return httpSender(async ({ content }) => {
      const body = toBody(content);
      if (!body) return { ok: false, retry: false, reason: 'the card is larger than 28 KB, the limit of Teams' };
      return sendHttp(outbound, {
        url,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body,
        timeoutMs: timeout_ms,
        secrets,
        errorText: field('error', 'message'),
        classify,
      });
    });
  },
};

/**
 * The workflow was deleted, or its URL is not one (WorkflowNotFound and other codes with a 404), or the URL may not call it: its
 * signature is wrong, or only users of the tenant may.
 */
function classify({ status }: ProviderAnswer): Partial<Failure> | undefined {
  return status === 401 || status === 403 || status === 404 ? { retry: false, denied: true } : undefined;
}

/** The workflow accepts a larger card, and then fails without reporting it. Such a message is sent as shortened text. */
function toBody(content: Content): string | undefined {
  const serialize = (card: unknown) =>
    JSON.stringify({
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: card }],
    });
  const max = maxBytes.teams.body;
  const body = serialize(content.card ?? plain(content));
  return Buffer.byteLength(body) <= max
    ? body
    : fitBody(content.text, max, text => serialize(plain({ ...content, text })));
}

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
