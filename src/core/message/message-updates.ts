/**
 * What happens to messages that were already sent when their occurrence ends: an acknowledgement or a resolution updates
 * them, a cancellation retracts them.
 */
import { lookUp } from '../lookup.ts';
import { resolveTimezone } from '../render/template/filters.ts';

export type OccurrenceChange = 'acknowledged' | 'resolved' | 'cancelled';
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
    resolved: ['Resolved by {by}, {at}', 'Resolved, {at}'],
    cancelled: ['Cancelled by {by}, {at}', 'Cancelled, {at}'],
  },
  de: {
    acknowledged: ['Übernommen von {by}, {at}', 'Übernommen, {at}'],
    resolved: ['Erledigt durch {by}, {at}', 'Erledigt, {at}'],
    cancelled: ['Abgebrochen von {by}, {at}', 'Abgebrochen, {at}'],
  },
  es: {
    acknowledged: ['Confirmado por {by}, {at}', 'Confirmado, {at}'],
    resolved: ['Resuelto por {by}, {at}', 'Resuelto, {at}'],
    cancelled: ['Cancelado por {by}, {at}', 'Cancelado, {at}'],
  },
  fr: {
    acknowledged: ['Pris en charge par {by}, {at}', 'Pris en charge, {at}'],
    resolved: ['Résolu par {by}, {at}', 'Résolu, {at}'],
    cancelled: ['Annulé par {by}, {at}', 'Annulé, {at}'],
  },
};

interface NoteReader {
  /** Such as `pt-BR`; unknown languages read English. */
  locale: string | null | undefined;
  /** An IANA name; undefined: UTC, which the note then names. */
  timezone: string | undefined;
}

const maxNameLength = 100;

/** Returns the line that is added to a message, such as "Acknowledged by Jane, 10:04". The day is named if it is another than that of the message. */
export function noteFor(
  { change, by, at }: { change: OccurrenceChange; by: string | null; at: Date },
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
  const isSameDay = format({ dateStyle: 'short' }).format(at) === format({ dateStyle: 'short' }).format(sentAt);
  const time = format({ timeStyle: 'short', ...(!isSameDay && { dateStyle: 'medium' }) }).format(at);
  const named = timezone === undefined ? `${time} UTC` : time;
  const name = by
    ?.replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, maxNameLength);
  return (name ? withName : alone).replace('{at}', () => named).replace('{by}', () => name ?? '');
}

/** Returns the locale, or none if it is malformed. */
function canonical(locale: string): string[] {
  try {
    return Intl.getCanonicalLocales(locale);
  } catch {
    return [];
  }
}
