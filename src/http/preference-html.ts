/** The pages that recipients see, as HTML that needs no script. Every value is escaped where it is put in. */
import { escapeHtml } from '../core/render/markdown-html.ts';
import type { LinkedUser, PreferencePage } from '../services/preference-page.ts';
import { fill, type PageWords } from './preference-words.ts';

/** Text that is HTML already. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function html(strings: TemplateStringsArray, ...values: (string | number | Html | Html[] | undefined)[]): Html {
  const written = values.map(value => {
    if (value === undefined) return '';
    if (value instanceof Html) return value.text;
    return Array.isArray(value) ? value.map(one => one.text).join('') : escapeHtml(String(value));
  });
  return new Html(strings.map((text, i) => text + (written[i] ?? '')).join(''));
}

const nothing = new Html('');

type Organization = LinkedUser['organization'];

export interface Frame {
  language: string;
  words: PageWords;
  nonce: string;
  /** Undefined where nobody knows whose page it is. */
  organization: Organization | undefined;
}

/** Black or white, whichever is easier to read: one of them always has a contrast of 4.5 at least. */
function textOn(color: string): string {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map(at => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map(part => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
}

const usualColor = '#1f5fbf';

function page({ language, nonce, organization }: Frame, title: string, body: Html): string {
  const color = organization?.brand_color ?? usualColor;
  const name = organization?.name ?? '';
  const logo = organization?.logo_url
    ? html`<img src="${organization.logo_url}" alt="${name}" height="40" />`
    : html`<span>${name}</span>`;
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="robots" content="noindex, nofollow" />
<meta name="color-scheme" content="light dark" />
<title>${title}${name ? ` · ${name}` : ''}</title>
<link rel="stylesheet" href="/pages/preferences.css" />
<style nonce="${nonce}">:root{--brand:${color};--on-brand:${textOn(color)}}</style>
</head>
<body>
<header>${name ? logo : nothing}</header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text;
}

export interface PageState {
  saved: boolean;
}

export function preferencePage(frame: Frame, shown: PreferencePage, { saved }: PageState): string {
  const { words, organization } = frame;
  const name = organization!.name;
  const body = html`
${saved ? html`<p role="status" class="notice">${words.saved}</p>` : nothing}
<p>${fill(words.intro, { name })}</p>
<form method="post">
<h2 id="categories">${words.categories}</h2>
${shown.categories.length === 0 || shown.types.length === 0 ? html`<p>${words.noCategories}</p>` : table(words, shown)}
<p class="actions"><button type="submit">${words.save}</button></p>
</form>
<form method="post">
<p class="actions"><button type="submit" name="action" value="off" class="quiet" aria-describedby="all-off">${words.allOff}</button>
<span id="all-off">${words.allOffHint}</span></p>
</form>
<h2 id="addresses">${words.addresses}</h2>
${shown.addresses.length === 0 ? html`<p>${words.noAddresses}</p>` : html`<ul>${shown.addresses.map(({ type, value }) => html`<li>${words.types[type] ?? type}: ${value}</li>`)}</ul>`}
${shown.lastChange ? html`<p class="note">${lastChange(frame, shown.lastChange, name)}</p>` : nothing}`;
  return page(frame, words.title, body);
}

function lastChange({ words, language }: Frame, { at, source }: { at: Date; source: string }, name: string): string {
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(at);
  return fill(words.lastChange, { date, source: fill(words.sources[source] ?? source, { name }) });
}

function table(words: PageWords, { types, categories }: PreferencePage): Html {
  return html`<div class="scroll" role="region" aria-labelledby="categories" tabindex="0">
<table>
<thead><tr><th scope="col">${words.category}</th>${types.map(type => html`<th scope="col">${words.types[type] ?? type}</th>`)}</tr></thead>
<tbody>${categories.map(category => row(words, types, category))}</tbody>
</table>
</div>`;
}

function row(words: PageWords, types: string[], category: PreferencePage['categories'][number]): Html {
  const { slug, name, description, isRequired, channels } = category;
  const cells = types.map(type => {
    const on = channels[type];
    const label = `${name}: ${words.types[type] ?? type}`;
    if (on === undefined)
      return html`<td><span class="none" aria-hidden="true">–</span><span class="hidden">${words.notOffered}</span></td>`;
    const checked = on ? html` checked` : nothing;
    if (isRequired) return html`<td><input type="checkbox" disabled${checked} aria-label="${label}" /></td>`;
    const cell = `${slug}:${type}`;
    return html`<td><input type="checkbox" name="on" value="${cell}"${checked} aria-label="${label}" /><input type="hidden" name="was" value="${cell}:${on ? 1 : 0}" /></td>`;
  });
  return html`<tr><th scope="row"><b>${name}</b>${description ? html`<span>${description}</span>` : nothing}${isRequired ? html`<span class="locked">${words.required}</span>` : nothing}</th>${cells}</tr>`;
}

export function unsubscribePage(frame: Frame, about: { category: string; type: string; manage: string }): string {
  const { words, organization } = frame;
  const values = { category: about.category, name: organization!.name, type: typeName(words, about.type) };
  const body = html`
<p>${fill(words.unsubscribeQuestion, values)}</p>
<form method="post">
<input type="hidden" name="List-Unsubscribe" value="One-Click" />
<p class="actions"><button type="submit">${words.unsubscribe}</button> <a href="${about.manage}">${words.manage}</a></p>
</form>`;
  return page(frame, words.unsubscribeTitle, body);
}

export function unsubscribedPage(
  frame: Frame,
  about: { category: string; type: string; manage: string; done: boolean },
): string {
  const { words } = frame;
  const values = { category: about.category, type: typeName(words, about.type) };
  const told = fill(about.done ? words.unsubscribed : words.stillRequired, values);
  const body = html`
<p role="status" class="notice">${told}</p>
<p><a href="${about.manage}">${words.manage}</a></p>`;
  return page(frame, words.unsubscribeTitle, body);
}

function typeName(words: PageWords, type: string): string {
  return words.types[type] ?? type;
}

/** Says the same whatever is wrong with the link. */
export function brokenPage(frame: Frame, isSample: boolean): string {
  const { words } = frame;
  const [title, hint] = isSample ? [words.sample, words.sampleHint] : [words.broken, words.brokenHint];
  return page(frame, title, html`<p>${hint}</p>`);
}
