/**
 * Marks messages about resolved occurrences. An author can handle this with `occurrence.resolved`; a message that does not
 * mention it would read like the alarm again, so "Resolved" is put before its subject and body.
 */
import type { LocalizedText, MessageContent, MessageText } from './compile.ts';

const mention = /occurrence\s*\.\s*resolved/;

export function toResolvedMessage(content: MessageContent): MessageContent {
  if (mention.test(JSON.stringify(content))) return content;
  const overrides = Object.entries(content.overrides ?? {}).map(([name, override]) => [name, markVariants(override)]);
  return { ...markVariants(content), ...(content.overrides && { overrides: Object.fromEntries(overrides) }) };
}

function markVariants<T extends LocalizedText>(variants: T): T {
  const locales = Object.entries(variants.locales ?? {}).map(([name, translated]) => [name, markText(translated)]);
  return { ...markText(variants), ...(variants.locales && { locales: Object.fromEntries(locales) }) };
}

function markText<T extends MessageText>(text: T): T {
  const { subject, body } = text;
  return {
    ...text,
    ...(subject !== undefined && { subject: `Resolved: ${subject}` }),
    // A JSON body must stay valid JSON.
    ...(body !== undefined && !/^\s*[{[](?!%|\{)/.test(body) && { body: `**Resolved.**\n\n${body}` }),
  };
}
