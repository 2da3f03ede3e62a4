/** Names files in a message whose provider cannot send them. */
import type { Json } from '../../core/json.ts';
import type { Content } from '../../core/render/render.ts';
import { escapeAngles } from '../../core/text/text.ts';

export function nameFiles(content: Content, files: readonly string[]): Content {
  const line = `Attachments: ${files.join(', ')}`;
  const { text, markup, html, card } = content;
  return {
    ...content,
    text: `${text}\n\n${line}`.trim(),
    ...(markup !== undefined && { markup: `${markup}\n\n${escapeAngles(line)}` }),
    // Only chats get here, whose HTML is a fragment.
    ...(html !== undefined && { html: `${html}<p>${escapeAngles(line)}</p>` }),
    ...(card !== undefined && { card: addToCard(card, line) }),
  };
}

/** Adds a line to a list of blocks (Slack), or to an Adaptive Card (Teams). */
function addToCard(card: Json, line: string): Json {
  if (Array.isArray(card)) return [...card, { type: 'section', text: { type: 'plain_text', text: line } }];
  if (card === null || typeof card !== 'object' || !Array.isArray(card.body)) return card;
  return { ...card, body: [...card.body, { type: 'TextBlock', text: line, wrap: true }] };
}
