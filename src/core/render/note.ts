/** Adds a line to a rendered message, in all of its forms. */
import { isObject } from '../json.ts';
import { escapeAngles } from '../text/text.ts';
import { escapeForChat, isChatMedium } from './markdown/chat.ts';
import type { Content } from './render.ts';

/** Slack refuses messages with more blocks. */
const maxBlocks = 50;

/** Returns the message with the line at its end, and without buttons. Nothing in the line is read as markup. */
export function addNote({ actions: _, ...content }: Content, note: string, medium: string): Content {
  const added: Content = { ...content, text: below(content.text, note) };
  if (content.markup !== undefined) {
    added.markup = below(content.markup, isChatMedium(medium) ? escapeForChat(medium, note) : note);
  }
  if (content.html !== undefined) added.html = `${content.html}<p>${escapeAngles(note)}</p>`;
  if (Array.isArray(content.card)) {
    const block = { type: 'context', elements: [{ type: 'plain_text', text: note }] };
    added.card = [...content.card.slice(0, maxBlocks - 1), block];
  }
  if (isObject(content.card) && Array.isArray(content.card.body)) {
    const block = { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: note }] };
    added.card = { ...content.card, body: [...content.card.body, block] };
  }
  const { data } = content;
  if (isObject(data) && typeof data.body === 'string') added.data = { ...data, body: below(data.body, note) };
  return added;
}

function below(text: string, note: string): string {
  return text.trim() === '' ? note : `${text}\n\n${note}`;
}
