/**
 * How a message says that its occurrence is resolved. Its author may write so, by `occurrence.resolved`; a message that does not
 * know of it would read like the alarm once more, so that it is told above the words.
 */
import type { MessageContent, Words } from './compile.ts';

const mention = /occurrence\s*\.\s*resolved/;

export function tellResolved(content: MessageContent): MessageContent {
  if (mention.test(JSON.stringify(content))) return content;
  const told = tellAll(content);
  const overrides = Object.entries(content.overrides ?? {}).map(([name, words]) => [name, tellAll(words)]);
  return { ...told, ...(content.overrides && { overrides: Object.fromEntries(overrides) }) };
}

function tellAll<Told extends Words & { locales?: Record<string, Words> }>(words: Told): Told {
  const locales = Object.entries(words.locales ?? {}).map(([name, own]) => [name, tell(own)]);
  return { ...tell(words), ...(words.locales && { locales: Object.fromEntries(locales) }) };
}

function tell<Told extends Words>(words: Told): Told {
  const { subject, body } = words;
  return {
    ...words,
    ...(subject !== undefined && { subject: `Resolved: ${subject}` }),
    // What is JSON stays JSON.
    ...(body !== undefined && !/^\s*[{[](?!%|\{)/.test(body) && { body: `**Resolved.**\n\n${body}` }),
  };
}
