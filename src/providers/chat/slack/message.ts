import type { Content } from '../../../core/render/render.ts';
import { escapeAngles } from '../../../core/text/text.ts';
import { breakMentions, headingOf, paragraphs, truncate } from '../../chat-text.ts';
import type { ShownButton } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import { toActionsBlock } from './interactions.ts';

export interface Message {
  text: string;
  blocks?: unknown[];
}

const max = maxCharacters.slack;
const maxBlocks = 50;

/**
 * Slack shows the blocks, and the text in notifications and wherever only text is supported. In both, values are escaped:
 * `<!channel>` in a user's name mentions no one.
 */
export function toMessage(content: Content, buttons: readonly ShownButton[] = []): Message {
  const heading = headingOf(content);
  const title = /^$|\*/.test(heading) ? heading : `*${heading}*`;
  // Services that accept Slack's webhooks read @ as a mention, where Slack requires <@.
  const whole = breakMentions(paragraphs(escapeAngles(title), content.markup ?? escapeAngles(content.text)));
  const text = truncate(whole, max.text);
  const blocks: unknown[] = Array.isArray(content.card) ? content.card : [];
  if (buttons.length === 0) return blocks.length > 0 ? { text, blocks } : { text };
  const section = { type: 'section', text: { type: 'mrkdwn', text: truncate(text, max.section) } };
  const shown = blocks.length > 0 ? blocks.slice(0, maxBlocks - 1) : text === '' ? [] : [section];
  return { text, blocks: [...shown, toActionsBlock(buttons)] };
}
