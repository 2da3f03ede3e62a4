/**
 * The document around an HTML email. A layout is a Liquid template with `{{ content }}`, `{{ title }}`,
 * `{{ preheader }}`, `{{ lang }}`, `{{ dir }}` and the variables of the message. Its HTML is the author's own; values are
 * escaped, also in attributes, and only allowed URLs are inserted into href and src.
 */
import { footerLabels } from './footer.ts';
import { defaultLayout } from './layout-default.ts';
import { allowedUrl } from './links.ts';
import { escapeHtml } from './markdown/html.ts';
import { cacheBySkeleton } from './skeleton-cache.ts';
import type { RunOptions } from './template/context.ts';
import { type Part, PreparedText, splitSlots, valueText } from './template/slots.ts';
import { type LazyTemplate, lazyTemplate, runTemplate, type TemplateOutput } from './template/template.ts';

export interface CompiledLayout {
  template: LazyTemplate;
  read: (skeleton: string) => Piece[];
}

type Piece = { part: Part; context: 'text' | 'url' | 'bare' };

/** Maximum characters of the document: enough for a message at its own limit, escaped. */
const maxOutput = 2_000_000;

/** Compiles the layout's template on first use. */
export function parseLayout(source: string): CompiledLayout {
  return { template: lazyTemplate(source), read: cacheBySkeleton(readLayout) };
}

/** Returns whether the layout has a slot for the message. */
export function hasContent(source: string): boolean {
  return /\{\{-?\s*content\s*-?\}\}/.test(source);
}

export const parsedDefaultLayout = parseLayout(defaultLayout);

/** Languages that are written from right to left. */
const rightToLeftLanguages = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'ur', 'yi']);

export function fillLayout(
  layout: CompiledLayout,
  { content, title, preheader, lang }: { content: string; title: string; preheader: string; lang: string },
  options: RunOptions,
): string {
  const dir = rightToLeftLanguages.has(lang.split('-')[0]!) ? 'rtl' : 'ltr';
  const labels = footerLabels(lang);
  const scope = {
    // Test sends and Belfry's own emails have no unsubscribe links; these are not reported as missing.
    unsubscribe_url: '',
    preferences_url: '',
    unsubscribe_label: labels.unsubscribe,
    preferences_label: labels.preferences,
    ...options.scope,
    content: new PreparedText('html', content),
    title,
    preheader,
    lang,
    dir,
  };
  const { skeleton, values }: TemplateOutput = runTemplate(layout.template(options.inline), {
    ...options,
    scope,
    maxOutput,
  });
  let html = '';
  for (const { part, context } of layout.read(skeleton))
    html += typeof part === 'string' ? part : escapeFor(values[part], context);
  return html;
}

function escapeFor(value: unknown, context: Piece['context']): string {
  if (value instanceof PreparedText && value.kind === 'html') return value.text;
  const text = valueText(value);
  if (context === 'url') return escapeHtml(allowedUrl(text) ?? '#');
  // Without quotes around it, any character but a letter or digit could end the attribute.
  if (context === 'bare') return text.replace(/[^\p{L}\p{N}]/gu, delimiter => `&#${delimiter.codePointAt(0)};`);
  return escapeHtml(text);
}

function readLayout(skeleton: string): Piece[] {
  const parts = splitSlots(skeleton);
  return parts.map((part, i) => {
    const before = parts[i - 1];
    if (typeof part === 'string' || typeof before !== 'string') return { part, context: 'text' };
    // Not by one regular expression: matching blank space before the end of a text is quadratic.
    const [name = '', delimiter] = splitAttribute(before.slice(-maxAttributeLength));
    if (delimiter === undefined) return { part, context: 'text' };
    if (/\b(?:href|src|action|background)$/i.test(name)) return { part, context: 'url' };
    return { part, context: delimiter === '=' ? 'bare' : 'text' };
  });
}

/** Characters before a value that are searched for the name of its attribute. */
const maxAttributeLength = 1_000;

/** Returns the text before `=`, and the delimiter after it: `=` itself or a quotation mark. */
function splitAttribute(text: string): [name?: string, delimiter?: string] {
  const end = text.trimEnd();
  const quote = /["']$/.exec(end)?.[0];
  const equals = (quote ? end.slice(0, -1) : end).trimEnd();
  return equals.endsWith('=') ? [equals.slice(0, -1).trimEnd(), quote ?? '='] : [];
}
