/**
 * What an HTML mail stands in. A layout is a Liquid document with `{{ content }}`, `{{ title }}`, `{{ preheader }}`,
 * `{{ lang }}`, `{{ dir }}` and the variables of the message. Its HTML is the author's own; values are escaped, also in
 * attributes, and as an address (href, src) only allowed ones get through.
 */
import { footerLabels } from './footer.ts';
import { defaultLayout } from './layout-default.ts';
import { allowedUrl } from './links.ts';
import { escapeHtml } from './markdown-html.ts';
import { remember } from './memory.ts';
import { type LazyTemplate, lazyTemplate, type RunOptions, runTemplate, type TemplateOutput } from './template.ts';
import { type Part, PreparedText, splitSlots, valueText } from './template-slots.ts';

export interface CompiledLayout {
  template: LazyTemplate;
  read: (skeleton: string) => Piece[];
}

type Piece = { part: Part; place: 'text' | 'url' | 'bare' };

/** Characters that come out: the message may fill its own limit, escaped. */
const output = 2_000_000;

/** Its template is compiled when it is needed. */
export function parseLayout(source: string): CompiledLayout {
  return { template: lazyTemplate(source), read: remember(readLayout) };
}

/** Whether there is a place for the message. */
export function hasContent(source: string): boolean {
  return /\{\{-?\s*content\s*-?\}\}/.test(source);
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
  const labels = footerLabels(lang);
  const scope = {
    // What stands in no mail of a trial or of Belfry's own is not missing.
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
    output,
  });
  let html = '';
  for (const { part, place } of layout.read(skeleton))
    html += typeof part === 'string' ? part : write(values[part], place);
  return html;
}

function write(value: unknown, place: Piece['place']): string {
  if (value instanceof PreparedText && value.kind === 'html') return value.text;
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
    // Trimmed by hand: to look for blank space before an end takes the square of it.
    const [name = '', sign] = splitAttribute(before.slice(-longestAttribute));
    if (sign === undefined) return { part, place: 'text' };
    if (/\b(?:href|src|action|background)$/i.test(name)) return { part, place: 'url' };
    return { part, place: sign === '=' ? 'bare' : 'text' };
  });
}

/** Characters before a value in which the name of its attribute is looked for. */
const longestAttribute = 1_000;

/** What stands before `=`, and the sign that ends it all: `=` itself or a quotation mark. */
function splitAttribute(text: string): [name?: string, sign?: string] {
  const end = text.trimEnd();
  const quote = /["']$/.exec(end)?.[0];
  const equals = (quote ? end.slice(0, -1) : end).trimEnd();
  return equals.endsWith('=') ? [equals.slice(0, -1).trimEnd(), quote ?? '='] : [];
}
