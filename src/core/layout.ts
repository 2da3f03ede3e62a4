/**
 * What an HTML mail stands in. A layout is a Liquid document with `{{ content }}`, `{{ title }}`, `{{ preheader }}`,
 * `{{ lang }}`, `{{ dir }}` and the variables of the message. Its HTML is the author's own; values are escaped, also in
 * attributes, and as an address (href, src) only allowed ones get through.
 */
import { defaultLayout } from './layout-default.ts';
import { escapeHtml } from './markdown-html.ts';
import { allowedUrl } from './render-links.ts';
import { remember } from './render-memory.ts';
import { parseTemplate, type Run, type RunOptions, runTemplate, type Template, TemplateError } from './template.ts';
import { type Part, Ready, splitSlots, valueText } from './template-slots.ts';

export interface CompiledLayout {
  template: Template;
  read: (skeleton: string) => Piece[];
}

type Piece = { part: Part; place: 'text' | 'url' | 'bare' };

/** Characters that come out: the message may fill its own limit, escaped. */
const output = 2_000_000;

/** Throws a TemplateError. */
export function parseLayout(source: string): CompiledLayout {
  const template = parseTemplate(source);
  if (!/\{\{-?\s*content\s*-?\}\}/.test(source)) {
    throw new TemplateError('does not hold {{ content }}, where the message belongs', 1, 1, undefined);
  }
  return { template, read: remember(readLayout) };
}

export const usualLayout = parseLayout(defaultLayout);

/** Written from right to left. */
const leftward = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'ur', 'yi']);

export function fillLayout(
  layout: CompiledLayout,
  { content, title, preheader, lang }: { content: string; title: string; preheader: string; lang: string },
  options: RunOptions,
): string {
  const dir = leftward.has(lang.split('-')[0]!) ? 'rtl' : 'ltr';
  const scope = { ...options.scope, content: new Ready('html', content), title, preheader, lang, dir };
  const { skeleton, values }: Run = runTemplate(layout.template, { ...options, scope, output });
  let html = '';
  for (const { part, place } of layout.read(skeleton))
    html += typeof part === 'string' ? part : write(values[part], place);
  return html;
}

function write(value: unknown, place: Piece['place']): string {
  if (value instanceof Ready && value.kind === 'html') return value.text;
  const text = valueText(value);
  if (place === 'url') return escapeHtml(allowedUrl(text) ?? '#');
  // Without quotes around it, whatever is no letter would end the attribute.
  if (place === 'bare') return text.replace(/[^\p{L}\p{N}]/gu, sign => `&#${sign.codePointAt(0)};`);
  return escapeHtml(text);
}

function readLayout(skeleton: string): Piece[] {
  const parts = splitSlots(skeleton);
  return parts.map((part, i) => {
    const before = parts[i - 1];
    if (typeof part === 'string' || typeof before !== 'string') return { part, place: 'text' };
    if (/\b(?:href|src|action|background)\s*=\s*["']?\s*$/i.test(before)) return { part, place: 'url' };
    return { part, place: /=\s*$/.test(before) ? 'bare' : 'text' };
  });
}
