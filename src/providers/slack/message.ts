import type { Content } from '../../core/render/render.ts';
import { escapeAngles, headingOf, paragraphs, truncate } from '../chat-text.ts';
import type { ShownButton } from '../interactions.ts';
import { toActionsBlock } from './interactions.ts';

export interface Message {
  text: string;
  blocks?: unknown[];
}

/** Slack truncates or refuses longer texts. */
const maxLength = 40_000;
/** Of the text of a section, and of the blocks of a message. */
const maxSectionLength = 3_000;
const maxBlocks = 50;

/**
 * Slack shows the blocks, and the text in notifications and wherever only text is supported. In both, values are escaped:
 * `<!channel>` in a user's name mentions no one.
 */
export function toMessage(content: Content, buttons: readonly ShownButton[] = []): Message {
  const heading = headingOf(content);
  const title = /^$|\*/.test(heading) ? heading : `*${heading}*`;
  const text = truncate(paragraphs(escapeAngles(title), content.markup ?? escapeAngles(content.text)), maxLength);
  const blocks: unknown[] = Array.isArray(content.card) ? content.card : [];
  if (buttons.length === 0) return blocks.length > 0 ? { text, blocks } : { text };
  const section = { type: 'section', text: { type: 'mrkdwn', text: truncate(text, maxSectionLength) } };
  const shown = blocks.length > 0 ? blocks.slice(0, maxBlocks - 1) : text === '' ? [] : [section];
  return { text, blocks: [...shown, toActionsBlock(buttons)] };
}
