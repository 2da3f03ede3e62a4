/** The part of the preference page with the recipient's absences: entered by hand, or taken from calendars. */
import { AppError } from '../../core/errors.ts';
import { absenceLimits } from '../../core/oncall/absences.ts';
import { calendarLimits } from '../../core/oncall/calendars/calendar.ts';
import { parseLocalTime } from '../../core/oncall/rotation.ts';
import { dayMs, zoneOf } from '../../core/oncall/zone.ts';
import { limits } from '../../core/text/text.ts';
import { currentTime } from '../../lib/time/clock.ts';
import {
  addOwnAbsence,
  connectOwnCalendar,
  deleteOwnAbsence,
  type OwnAbsences,
  removeOwnCalendar,
  timezoneOf,
} from '../../services/audience/on-call/own-absences.ts';
import type { LinkedUser } from '../../services/audience/preference-page.ts';
import type { Deps } from '../../services/deps.ts';
import { type Html, html, nothing } from './html.ts';
import { fill, type PageTexts } from './preference-texts.ts';

export const absenceOutcomes = ['added', 'deleted', 'connected', 'removed'] as const;
export type AbsenceOutcome = (typeof absenceOutcomes)[number];

const fields = ['starts_at', 'ends_at', 'reason', 'url', 'words'] as const;
type Field = (typeof fields)[number];

/** A form that was not saved, as it was entered. */
export interface RefusedAbsence {
  entered: URLSearchParams;
  /** What is wrong with each field, in English. */
  mistakes: Partial<Record<Field, string>>;
  /** Why the form was refused although its fields are valid. */
  why?: 'full' | 'busy';
}

export interface AbsenceState {
  outcome?: AbsenceOutcome | undefined;
  refused?: RefusedAbsence | undefined;
}

interface Section extends AbsenceState {
  words: PageTexts['absences'];
  own: OwnAbsences;
  language: string;
}

export function absenceSection(
  language: string,
  { absences: words }: PageTexts,
  own: OwnAbsences,
  state: AbsenceState,
) {
  const section: Section = { ...state, words, own, language };
  const { outcome, refused } = state;
  return html`<h2 id="absences">${words.title}</h2>
${outcome ? html`<p role="status" class="notice">${words.outcomes[outcome]}</p>` : nothing}
${refused?.why ? html`<p role="alert" class="notice">${words[refused.why]}</p>` : nothing}
<p class="note">${words.hint} ${fill(words.zone, { zone: own.timezone })}</p>
${own.absences.length === 0 ? html`<p>${words.none}</p>` : html`<ul class="rows">${own.absences.map(one => item(section, one))}</ul>`}
${own.collisions.length > 0 ? collisions(section) : nothing}
${newAbsence(section)}
<h3>${words.calendars}</h3>
<p class="note">${words.calendarsHint}</p>
${own.calendars.length > 0 ? html`<ul class="rows">${own.calendars.map(one => calendar(section, one))}</ul>` : nothing}
${own.mayConnect ? newCalendar(section) : nothing}`;
}

function item({ words, own, language }: Section, absence: OwnAbsences['absences'][number]): Html {
  const { id, starts_at, ends_at, reason } = absence;
  const time = timesIn(language, own.timezone)(starts_at.getTime(), ends_at.getTime());
  const host = own.calendars.find(one => one.id === absence.calendar)?.host;
  const from = host === undefined ? '' : fill(words.fromCalendar, { host });
  return html`<li>${[time, reason].filter(Boolean).join(' · ')} ${from ? html`<span class="note">${from}</span>` : nothing}
${absence.calendar === null ? removal('absence-delete', id, words.delete, time) : nothing}</li>`;
}

function collisions({ words, own, language }: Section): Html {
  const timeOf = timesIn(language, own.timezone);
  return html`<h3>${words.collisions}</h3>
<p class="note">${words.collisionsHint}</p>
<ul>${own.collisions.map(({ schedule, project, from, until }) => html`<li>${schedule} (${project}): ${timeOf(from, until)}</li>`)}</ul>
${own.hasMoreCollisions ? html`<p class="note">${words.more}</p>` : nothing}`;
}

function calendar({ words }: Section, { id, host, absences, words: only, error }: OwnAbsences['calendars'][number]) {
  const note = [
    fill(words.count, { count: String(absences) }),
    ...(only.length > 0 ? [fill(words.onlyWith, { words: only.join(', ') })] : []),
  ];
  return html`<li>${host} <span class="note">${note.join(' · ')}</span>
${error === null ? nothing : html`<p class="error">${words.mistakes.url} <span lang="en">${error}</span></p>`}
${removal('calendar-delete', id, words.remove, host)}</li>`;
}

function removal(action: string, id: number, label: string, of: string): Html {
  return html`<form method="post">${hidden(action)}<input type="hidden" name="id" value="${id}" />
<button type="submit" class="quiet" aria-label="${label}: ${of}">${label}</button></form>`;
}

function newAbsence(section: Section): Html {
  const { words, own } = section;
  const zone = zoneOf(own.timezone);
  const inDays = (days: number) => {
    const instant = currentTime() + days * dayMs;
    return new Date(instant + zone.offsetAt(instant)).toISOString().slice(0, 16);
  };
  const { aheadDays, days } = absenceLimits;
  const latest = html`type="datetime-local" required max="${inDays(aheadDays)}"`;
  const ahead = html`type="datetime-local" required min="${inDays(0)}" max="${inDays(aheadDays + days)}"`;
  return html`<form method="post">${hidden('absence')}
<fieldset><legend>${words.add}</legend><div class="fields">
${input(section, 'starts_at', words.begins, latest)}
${input(section, 'ends_at', words.ends, ahead)}
${input(section, 'reason', words.reason, html`maxlength="${limits.reason}"`)}
</div></fieldset>
<p class="actions"><button type="submit">${words.addAction}</button></p></form>`;
}

function newCalendar(section: Section): Html {
  const { words } = section;
  const url = html`type="url" required maxlength="${calendarLimits.url}" autocomplete="off" spellcheck="false"`;
  const only = html`maxlength="${calendarLimits.words * (calendarLimits.word + 2)}"`;
  return html`<form method="post">${hidden('calendar')}
<fieldset><legend>${words.connect}</legend><div class="fields">
${input(section, 'url', words.address, url, words.addressHint)}
${input(section, 'words', words.words, only, words.wordsHint)}
</div></fieldset>
<p class="actions"><button type="submit">${words.connectAction}</button></p></form>`;
}

/** The first field with a mistake gets the focus, so that the page shows it at once. */
function input({ words, refused }: Section, name: Field, label: string, attributes: Html, hint?: string): Html {
  const mistake = refused?.mistakes[name];
  const isFirst = mistake !== undefined && fields.find(one => refused!.mistakes[one] !== undefined) === name;
  const about = [...(hint ? [`${name}-hint`] : []), ...(mistake === undefined ? [] : [`${name}-error`])].join(' ');
  return html`<div class="${name}"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" value="${refused?.entered.get(name) ?? ''}" ${attributes}${about ? html` aria-describedby="${about}"` : nothing}${mistake === undefined ? nothing : html` aria-invalid="true"`}${isFirst ? html` autofocus` : nothing} />
${hint ? html`<p id="${name}-hint" class="note">${hint}</p>` : nothing}
${mistake === undefined ? nothing : html`<p id="${name}-error" class="error">${words.mistakes[name]}${name === 'url' ? html` <span lang="en">${mistake}</span>` : nothing}</p>`}</div>`;
}

const hidden = (action: string) => html`<input type="hidden" name="action" value="${action}" />`;

function timesIn(language: string, timeZone: string): (from: number, until: number) => string {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone });
  return (from, until) => format.formatRange(from, until);
}

export const isAbsenceAction = (action: string | null) =>
  ['absence', 'absence-delete', 'calendar', 'calendar-delete'].includes(action ?? '');

/** Does what a form of the section asks for. Returns what the page says about it. */
export async function changeAbsences(deps: Deps, user: LinkedUser, entered: URLSearchParams): Promise<AbsenceState> {
  const zone = zoneOf(timezoneOf(user));
  const id = Number(/^\d{1,15}$/.exec(entered.get('id') ?? '')?.[0] ?? 0);
  const text = (name: Field) => entered.get(name)?.trim() ?? '';
  const time = (name: Field) => {
    const wall = /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(text(name)) ? parseLocalTime(text(name)) : undefined;
    return wall === undefined ? '' : new Date(zone.toInstant(wall)).toISOString();
  };
  try {
    switch (entered.get('action')) {
      case 'absence': {
        const input = { starts_at: time('starts_at'), ends_at: time('ends_at'), reason: text('reason') };
        await addOwnAbsence(deps, user, input);
        return { outcome: 'added' };
      }
      case 'calendar': {
        const words = text('words')
          .split(',')
          .filter(word => word.trim() !== '');
        await connectOwnCalendar(deps, user, { url: text('url'), words });
        return { outcome: 'connected' };
      }
      case 'calendar-delete':
        await removeOwnCalendar(deps, user, id);
        return { outcome: 'removed' };
      default:
        await deleteOwnAbsence(deps, user, id);
        return { outcome: 'deleted' };
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // It was deleted already, or no schedule names the user anymore.
    if (error.kind === 'not_found' || error.code === 'absence.from_calendar') return {};
    if (error.kind === 'conflict') return { refused: { entered, mistakes: {}, why: 'full' } };
    if (error.kind === 'unavailable') return { refused: { entered, mistakes: {}, why: 'busy' } };
    if (error.kind !== 'invalid') throw error;
    return { refused: { entered, mistakes: readMistakes(error) } };
  }
}

function readMistakes({ details }: AppError): RefusedAbsence['mistakes'] {
  const found = Object.entries(details.fields ?? {});
  return Object.fromEntries(
    fields.flatMap(name => {
      const messages = found.find(([field]) => field.split('/')[0] === name)?.[1];
      return messages ? [[name, messages.join('; ')]] : [];
    }),
  );
}
