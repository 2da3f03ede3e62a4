/** Calendars as other programs read them: RFC 5545. Times are in UTC, so that no time zone has to be described. */

export interface CalendarEvent {
  /** Stays the same while the event does: calendars recognize it by this. */
  uid: string;
  from: number;
  until: number;
  summary: string;
}

/** Lines are at most this long, in bytes of UTF-8. */
const maxLineBytes = 75;

/** `stamp` is when the calendar was made. The same events with the same stamp are the same text. */
export function writeCalendar(name: string, stamp: number, events: readonly CalendarEvent[]): string {
  const lines = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Belfry//On call//EN', 'CALSCALE:GREGORIAN', 'METHOD:PUBLISH'],
    `NAME:${escapeText(name)}`,
    `X-WR-CALNAME:${escapeText(name)}`,
    ...['REFRESH-INTERVAL;VALUE=DURATION:PT1H', 'X-PUBLISHED-TTL:PT1H'],
    ...events.flatMap(({ uid, from, until, summary }) => [
      ...['BEGIN:VEVENT', `UID:${uid}`, `DTSTAMP:${toUtc(stamp)}`, `DTSTART:${toUtc(from)}`, `DTEND:${toUtc(until)}`],
      // Being on call does not make anyone unavailable for meetings.
      ...[`SUMMARY:${escapeText(summary)}`, 'TRANSP:TRANSPARENT', 'END:VEVENT'],
    ]),
    'END:VCALENDAR',
  ];
  return `${lines.map(foldLine).join('\r\n')}\r\n`;
}

function toUtc(instant: number): string {
  return new Date(instant).toISOString().replace(/[-:]|\.\d+/g, '');
}

function escapeText(text: string): string {
  return text
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n?|\n/g, '\\n')
    .replace(/\p{Cc}/gu, '');
}

/** Continues a long line on the next ones, never inside a character. */
function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= maxLineBytes) return line;
  let folded = '';
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > maxLineBytes) {
      folded += '\r\n ';
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}
