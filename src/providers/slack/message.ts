import type { Content } from '../../core/render/render.ts';
import { cut, escapeAngles, headingOf, paragraphs } from '../chat-text.ts';

/** Slack cuts what is longer, or refuses it. */
const longest = 40_000;

/**
 * The blocks are what is shown; the text stands in for them in notices, and wherever only text is understood. In both,
 * nothing of a value counts as a sign: `<!channel>` in somebody's name calls nobody.
 */
export function toMessage(content: Content): { text: string; blocks?: unknown[] } {
  const heading = headingOf(content);
  const title = /^$|\*/.test(heading) ? heading : `*${heading}*`;
  const text = cut(paragraphs(escapeAngles(title), content.markup ?? escapeAngles(content.text)), longest);
  const { card } = content;
  return Array.isArray(card) && card.length > 0 ? { text, blocks: card } : { text };
}
