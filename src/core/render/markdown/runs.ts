/**
 * Renders a line of Markdown as runs of text that share a style, for formats that keep text and styles apart, so that
 * nothing in the text can be read as markup.
 */

import { resolveLink } from '../links.ts';
import { joinParts, type Values } from '../template/slots.ts';
import type { Inline } from './markdown.ts';

export interface Style {
  bold?: true;
  italic?: true;
  strike?: true;
  code?: true;
}

export interface Run {
  text: string;
  style: Style;
  url?: string | undefined;
}

const styles = { strong: { bold: true }, em: { italic: true }, del: { strike: true } } as const;

export function toRuns(inlines: readonly Inline[], values: Values, style: Style = {}): Run[] {
  const runs: Run[] = [];
  collect(inlines, values, style, undefined, run => {
    const last = runs.at(-1);
    if (run.text === '') return;
    if (last && last.style === run.style && last.url === run.url) last.text += run.text;
    else runs.push(run);
  });
  return runs;
}

function collect(
  inlines: readonly Inline[],
  values: Values,
  style: Style,
  url: string | undefined,
  add: (run: Run) => void,
): void {
  for (const inline of inlines) {
    switch (inline.type) {
      case 'text':
        add({ text: joinParts(inline.parts, values), style, url });
        break;
      case 'code':
        add({ text: joinParts(inline.parts, values), style: { ...style, code: true }, url });
        break;
      case 'break':
        add({ text: '\n', style, url });
        break;
      case 'link':
        collect(inline.inner, values, style, url ?? resolveLink(inline.href, values), add);
        break;
      case 'image':
        add({ text: joinParts(inline.alt, values), style, url: url ?? resolveLink(inline.href, values) });
        break;
      default:
        collect(inline.inner, values, { ...style, ...styles[inline.type] }, url, add);
    }
  }
}
