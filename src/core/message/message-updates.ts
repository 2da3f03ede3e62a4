/**
 * What happens to messages that were already sent when their occurrence changes: an acknowledgement, a snooze, the end of
 * either, or a resolution updates them, a cancellation retracts them.
 */
import { lookUp } from '../lookup.ts';
import { resolveTimezone } from '../render/template/filters.ts';

export const occurrenceChanges = ['acknowledged', 'snoozed', 'reopened', 'resolved', 'cancelled'] as const;
export type OccurrenceChange = (typeof occurrenceChanges)[number];
export type UpdateAction = 'update' | 'retract';

/** Returns what to do with a message; undefined if its provider can do neither. */
export function updateActionFor(
  change: OccurrenceChange,
  supported: readonly UpdateAction[] | undefined,
): UpdateAction | undefined {
  const wanted: UpdateAction = change === 'cancelled' ? 'retract' : 'update';
  return supported?.includes(wanted) ? wanted : supported?.find(one => one === 'update');
}

export const updateLimits = {
  /** Calls of the provider for one change of a message. */
  attempts: 8,
  /** How often the deliveries of an occurrence are listed again while some have no outcome: for about an hour. */
  listings: 12,
  /** The entries that are kept in the log of a message. */
  keptEntries: 20,
} as const;

const firstDelaySeconds = 5;

/**
 * Returns the delay after this attempt; undefined after the last one. The delays are 5, 10, 20 … 320 s, of which between half
 * and all is used. `minSeconds` is the minimum that the provider asked for.
 */
export function updateRetrySeconds(attempt: number, random: number, minSeconds = 0): number | undefined {
  if (attempt >= updateLimits.attempts) return undefined;
  return Math.max(firstDelaySeconds * 2 ** (attempt - 1) * (0.5 + random / 2), minSeconds);
}

const texts: Record<string, Record<OccurrenceChange, [by: string, alone: string]>> = {
  en: {
    acknowledged: ['Acknowledged by {by}, {at}', 'Acknowledged, {at}'],
    snoozed: ['Snoozed until {until} by {by}, {at}', 'Snoozed until {until}, {at}'],
    reopened: ['Taken back by {by}, {at}: this is open again', 'Open again, {at}'],
    resolved: ['Resolved by {by}, {at}', 'Resolved, {at}'],
    cancelled: ['Cancelled by {by}, {at}', 'Cancelled, {at}'],
  },
  de: {
    acknowledged: ['Übernommen von {by}, {at}', 'Übernommen, {at}'],
    snoozed: ['Zurückgestellt bis {until} von {by}, {at}', 'Zurückgestellt bis {until}, {at}'],
    reopened: ['Zurückgenommen von {by}, {at}: wieder offen', 'Wieder offen, {at}'],
    resolved: ['Erledigt durch {by}, {at}', 'Erledigt, {at}'],
    cancelled: ['Abgebrochen von {by}, {at}', 'Abgebrochen, {at}'],
  },
  es: {
    acknowledged: ['Confirmado por {by}, {at}', 'Confirmado, {at}'],
    snoozed: ['Pospuesto hasta {until} por {by}, {at}', 'Pospuesto hasta {until}, {at}'],
    reopened: ['Retirado por {by}, {at}: abierto de nuevo', 'Abierto de nuevo, {at}'],
    resolved: ['Resuelto por {by}, {at}', 'Resuelto, {at}'],
    cancelled: ['Cancelado por {by}, {at}', 'Cancelado, {at}'],
  },
  fr: {
    acknowledged: ['Pris en charge par {by}, {at}', 'Pris en charge, {at}'],
    snoozed: ['Mis en pause jusqu’à {until} par {by}, {at}', 'Mis en pause jusqu’à {until}, {at}'],
    reopened: ['Retiré par {by}, {at} : de nouveau ouvert', 'De nouveau ouvert, {at}'],
    resolved: ['Résolu par {by}, {at}', 'Résolu, {at}'],
    cancelled: ['Annulé par {by}, {at}', 'Annulé, {at}'],
  },
};

/** Who has yet to acknowledge. */
const missingTexts: Record<string, string> = {
  en: 'Missing: {missing}',
  de: 'Es fehlen: {missing}',
  es: 'Faltan: {missing}',
  fr: 'Il manque : {missing}',
};

interface NoteReader {
  /** Such as `pt-BR`; unknown languages read English. */
  locale: string | null | undefined;
  /** An IANA name; undefined: UTC, which the note then names. */
  timezone: string | undefined;
}

const maxNameLength = 100;

interface Note {
  change: OccurrenceChange;
  by: string | null;
  at: Date;
  until?: Date | null;
  /** Names of recipients who have yet to acknowledge; absent: no one has to. */
  missing?: string | undefined;
}

/** Returns the line that is added to a message, such as "Acknowledged by Jane, 10:04". A day is named if it is another than that of the message. */
export function noteFor(
  { change, by, at, until, missing }: Note,
  sentAt: Date,
  { locale, timezone }: NoteReader,
): string {
  const wanted = (locale ?? '').replace('_', '-');
  const [language = ''] = wanted.toLowerCase().split('-');
  const isKnown = Object.hasOwn(texts, language);
  const [withName, alone] = lookUp(texts, isKnown ? language : 'en')![change];
  const timeZone = timezone === undefined ? 'UTC' : resolveTimezone(timezone);
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(isKnown ? [...canonical(wanted), language] : 'en-GB', { timeZone, ...options });
  const day = format({ dateStyle: 'short' });
  const nameOfTime = (time: Date, other: Date) => {
    const isSameDay = day.format(time) === day.format(other);
    const text = format({ timeStyle: 'short', ...(!isSameDay && { dateStyle: 'medium' }) }).format(time);
    return timezone === undefined ? `${text} UTC` : text;
  };
  const name = by
    ?.replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxNameLength);
  const others = missing
    ? `. ${lookUp(missingTexts, isKnown ? language : 'en')!.replace('{missing}', () => missing)}`
    : '';
  const line = (name ? withName : alone)
    .replace('{at}', () => nameOfTime(at, sentAt))
    .replace('{until}', () => (until ? nameOfTime(until, at) : ''))
    .replace('{by}', () => name ?? '');
  return `${line}${others}`;
}

/** Returns the locale, or none if it is malformed. */
function canonical(locale: string): string[] {
  try {
    return Intl.getCanonicalLocales(locale);
  } catch {
    return [];
  }
}
