/** HTML of the pages for recipients, without scripts. The `html` tag escapes every value. */
import { readFileSync } from 'node:fs';
import { listTimezones, type QuietHours, weekdays } from '../../core/decision/quiet-hours.ts';
import { canonicalJson } from '../../core/json.ts';
import { lookUp } from '../../core/lookup.ts';
import { logoOriginOf } from '../../core/render/logo-url.ts';
import type { OwnAbsences } from '../../services/audience/on-call/own-absences.ts';
import type { LinkedUser, PreferencePage } from '../../services/audience/preference-page.ts';
import { type AbsenceState, absenceSection } from './absence-form.ts';
import { addressSection, type CodeOutcome } from './address-form.ts';
import { Html, html, nothing, option } from './html.ts';
import { fill, type PageTexts } from './preference-texts.ts';
import { reachSection } from './reach-form.ts';

type Organization = LinkedUser['organization'];

export interface Frame {
  language: string;
  words: PageTexts;
  nonce: string;
  /** Undefined for an invalid link. */
  organization: Organization | undefined;
  /** Inlines the styles, for a preview that cannot load other files. */
  isEmbedded?: boolean;
}

const styles = new Html(readFileSync(new URL('assets/preferences.css', import.meta.url), 'utf8'));

/** Returns black or white, whichever is more readable: one of them always has a contrast of at least 4.5. */
function textOn(color: string): string {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map(at => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map(part => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
}

const defaultColor = '#1f5fbf';
const colorPattern = /^#[0-9a-f]{6}$/i;

export function page({ language, nonce, organization, isEmbedded }: Frame, title: string, body: Html): string {
  const stored = organization?.brand_color ?? '';
  const color = colorPattern.test(stored) ? stored : defaultColor;
  const name = organization?.name ?? '';
  const logo = logoOriginOf(organization?.logo_url)
    ? html`<img src="${organization!.logo_url!}" alt="${name}" height="40" />`
    : html`<span>${name}</span>`;
  return html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8" />
<meta name="viewport" content="width=device-width, initial-scale=1" />
<meta name="robots" content="noindex, nofollow" />
<meta name="color-scheme" content="light dark" />
<title>${title}${name ? ` · ${name}` : ''}</title>
${isEmbedded ? html`<style>${styles}</style>` : html`<link rel="stylesheet" href="/pages/preferences.css" />`}
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
  /** What was submitted and invalid; absent: nothing. */
  wrong?: 'quiet' | 'reach' | undefined;
  code?: CodeOutcome | undefined;
  absence?: AbsenceState | undefined;
}

export function preferencePage(
  frame: Frame,
  user: LinkedUser,
  shown: PreferencePage & { absences?: OwnAbsences | undefined },
  { saved, wrong, code, absence = {} }: PageState,
): string {
  const { language, words, organization } = frame;
  const name = organization!.name;
  const body = html`
${saved ? html`<p role="status" class="notice">${words.saved}</p>` : nothing}
${wrong ? html`<p role="alert" class="notice">${wrong === 'reach' ? words.reachInvalid : words.quietInvalid}</p>` : nothing}
<p>${fill(words.intro, { name })}</p>
<form method="post">
<h2 id="categories">${words.categories}</h2>
${shown.categories.length === 0 || shown.types.length === 0 ? html`<p>${words.noCategories}</p>` : table(words, shown)}
${quietSection(frame, user)}
${shown.reach ? reachSection(words, shown.types, shown.reach) : nothing}
<p class="actions"><button type="submit">${words.save}</button></p>
</form>
<form method="post">
<p class="actions"><button type="submit" name="action" value="off" class="quiet" aria-describedby="all-off">${words.allOff}</button>
<span id="all-off">${words.allOffHint}</span></p>
</form>
<h2 id="addresses">${words.addresses}</h2>
${addressSection(words, name, shown.addresses, code)}
${shown.absences ? absenceSection(language, words, shown.absences, absence) : nothing}
${shown.lastChange ? html`<p class="note">${lastChange(frame, shown.lastChange, name)}</p>` : nothing}`;
  return page(frame, words.title, body);
}

const isoMonday = Date.UTC(2024, 0, 1);

function quietSection({ words, language }: Frame, { timezone, quiet_hours: own, organization }: LinkedUser): Html {
  const { name, quiet_hours: inherited } = organization;
  const mode = own === null ? 'usual' : own.enabled === false ? 'none' : 'own';
  const hours = inherited && inherited.enabled !== false ? `${inherited.from}–${inherited.to}` : words.none;
  const shown = { from: own?.from ?? inherited?.from ?? '22:00', to: own?.to ?? inherited?.to ?? '07:00' };
  const days = own?.weekdays ?? inherited?.weekdays ?? weekdays;
  const dayName = new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' });
  const modes = [
    ['usual', fill(words.quietDefault, { name, hours })],
    ['own', words.quietOwn],
    ['none', words.quietNone],
  ] as const;
  const zone = organization.timezone ?? 'UTC';
  const zones = new Set([...(timezone ? [timezone] : []), ...listTimezones()]);
  return html`<h2 id="quiet">${words.quiet}</h2>
<p id="quiet-hint" class="note">${words.quietHint}</p>
<input type="hidden" name="quiet_was" value="${writeQuietState(own, timezone)}" />
<input type="hidden" name="hours_was" value="${writeHours(mode, shown.from, shown.to, days)}" />
<div class="fields">
<div><label for="quiet-mode">${words.quiet}</label><select id="quiet-mode" name="quiet" aria-describedby="quiet-hint">${modes.map(([value, label]) => option(value, label, value === mode))}</select></div>
<label>${words.from}<input type="time" name="from" value="${shown.from}" required /></label>
<label>${words.to}<input type="time" name="to" value="${shown.to}" required /></label>
<div><label for="timezone">${words.timezone}</label><select id="timezone" name="timezone">${option('', fill(words.timezoneDefault, { name, zone }), timezone === null)}${[...zones].map(one => option(one, one, one === timezone))}</select></div>
</div>
<fieldset><legend>${words.days}</legend><div class="fields">${weekdays.map(
    (day, i) =>
      html`<label class="inline"><input type="checkbox" name="day" value="${day}"${days.includes(day) ? html` checked` : nothing} />${dayName.format(isoMonday + i * 86_400_000)}</label>`,
  )}</div></fieldset>`;
}

/** Encodes what the form showed, so that an untouched form changes nothing. */
export function writeQuietState(hours: QuietHours | null, timezone: string | null): string {
  return canonicalJson([hours, timezone]);
}

/** Encodes the mode and the times that the form showed, to detect which of them were changed. */
export function writeHours(mode: string, from: string | null, to: string | null, days: readonly string[]): string {
  return `${mode} ${from} ${to} ${weekdays.filter(day => days.includes(day)).join()}`;
}

function lastChange({ words, language }: Frame, { at, source }: { at: Date; source: string }, name: string): string {
  const date = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(at);
  return fill(words.lastChange, { date, source: fill(lookUp(words.sources, source) ?? source, { name }) });
}

function table(words: PageTexts, { types, categories }: PreferencePage): Html {
  return html`<div class="scroll" role="region" aria-labelledby="categories" tabindex="0">
<table>
<thead><tr><th scope="col">${words.category}</th>${types.map(type => html`<th scope="col">${lookUp(words.types, type) ?? type}</th>`)}</tr></thead>
<tbody>${categories.map(category => row(words, types, category))}</tbody>
</table>
</div>`;
}

function row(words: PageTexts, types: string[], category: PreferencePage['categories'][number]): Html {
  const { slug, name, description, isRequired, channels } = category;
  const cells = types.map(type => {
    const on = channels[type];
    const typeName = lookUp(words.types, type) ?? type;
    const label = `${name}: ${typeName}`;
    if (on === undefined)
      return html`<td data-type="${typeName}"><span class="none" aria-hidden="true">–</span><span class="hidden">${words.notOffered}</span></td>`;
    const checked = on ? html` checked` : nothing;
    if (isRequired)
      return html`<td data-type="${typeName}"><input type="checkbox" disabled${checked} aria-label="${label}" /></td>`;
    const cell = `${slug}:${type}`;
    return html`<td data-type="${typeName}"><input type="checkbox" name="on" value="${cell}"${checked} aria-label="${label}" /><input type="hidden" name="was" value="${cell}:${on ? 1 : 0}" /></td>`;
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
  const status = fill(about.done ? words.unsubscribed : words.stillRequired, values);
  const body = html`
<p role="status" class="notice">${status}</p>
<p><a href="${about.manage}">${words.manage}</a></p>`;
  return page(frame, words.unsubscribeTitle, body);
}

function typeName(words: PageTexts, type: string): string {
  return lookUp(words.types, type) ?? type;
}

/** Shows the same text whatever is wrong with the link, to reveal nothing. */
export function brokenPage(frame: Frame, isSample: boolean, sampleHint = frame.words.sampleHint): string {
  const { words } = frame;
  const [title, hint] = isSample ? [words.sample, sampleHint] : [words.broken, words.brokenHint];
  return page(frame, title, html`<p>${hint}</p>`);
}
