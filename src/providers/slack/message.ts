import type { Content } from '../../core/render/render.ts';
import { escapeAngles, headingOf, paragraphs, truncate } from '../chat-text.ts';

/** Slack truncates or refuses longer texts. */
const maxLength = 40_000;

/**
 * Slack shows the blocks, and the text in notifications and wherever only text is supported. In both, values are escaped:
 * `<!channel>` in a user's name mentions no one.
 */
export function toMessage(content: Content): { text: string; blocks?: unknown[] } {
  const heading = headingOf(content);
  const title = /^$|\*/.test(heading) ? heading : `*${heading}*`;
  const text = truncate(paragraphs(escapeAngles(title), content.markup ?? escapeAngles(content.text)), maxLength);
  const { card } = content;
  return Array.isArray(card) && card.length > 0 ? { text, blocks: card } : { text };
}
