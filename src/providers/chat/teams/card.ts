/** Messages of Teams: one Adaptive Card each, https://learn.microsoft.com/adaptive-cards/authoring-cards/universal-action-model */
import { isObject } from '../../../core/json.ts';
import type { Content } from '../../../core/render/render.ts';
import { paragraphs } from '../../chat-text.ts';
import type { ShownButton } from '../../interactions.ts';
import { maxBytes } from '../../limits.ts';
import { fitBody } from '../../push/message.ts';

/**
 * Returns a message whose only attachment is the card of the content. Teams refuses larger ones than 28 KB, or never shows
 * them: those are sent as shortened text, which still ends with the note. Undefined if even that is too large.
 */
export function toCardMessage(
  content: Content,
  more: object = {},
  { buttons = [], note = '' }: { buttons?: readonly ShownButton[]; note?: string } = {},
): string | undefined {
  const serialize = (card: object) =>
    JSON.stringify({
      type: 'message',
      ...more,
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content: withButtons(card, buttons) }],
    });
  const max = maxBytes.teams.body;
  const body = serialize(isObject(content.card) ? content.card : plain(content));
  if (Buffer.byteLength(body) <= max) return body;
  const text = content.text.endsWith(note) ? content.text.slice(0, content.text.length - note.length) : content.text;
  return fitBody(text.trimEnd(), max, shortened => serialize(plain({ ...content, text: paragraphs(shortened, note) })));
}

/** Older clients know Action.Submit only, and no fallback outside of an ActionSet. */
function withButtons(card: { body?: unknown }, buttons: readonly ShownButton[]): object {
  if (buttons.length === 0) return card;
  const actions = buttons.map(({ label: title, token, url, isMain }) => {
    if (token === undefined) return { type: 'Action.OpenUrl', title, url };
    const action = { title, data: { token }, ...(isMain && { style: 'positive' }) };
    return { type: 'Action.Execute', ...action, fallback: { type: 'Action.Submit', ...action } };
  });
  const body = Array.isArray(card.body) ? card.body : [];
  return { ...card, body: [...body, { type: 'ActionSet', actions }] };
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
