import type { Content } from '../core/render/render.ts';

/** At most so many UTF-16 units, ending in … where something is missing, and never in half a character. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, Math.max(most - 1, 0)).replace(/[\ud800-\udbff]$/, '');
  return `${kept.trimEnd()}…`;
}

/** For Slack's markup and for the HTML that Telegram takes: both know these three characters, and no others. */
export function escapeAngles(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The title where it says something of its own: a message without one is called by its first line. */
export function headingOf({ title, text }: Content): string {
  const [line = ''] = text.split('\n', 1);
  const isFirstLine = title === line.trim() || (title.endsWith('…') && line.trim().startsWith(title.slice(0, -1)));
  return isFirstLine ? '' : title.trim();
}

/** The parts that there are, a free line between them. */
export function paragraphs(...parts: string[]): string {
  return parts.filter(part => part.trim() !== '').join('\n\n');
}
