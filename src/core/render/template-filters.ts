/**
 * The filters that templates may use. Left out are those that make markup (values are escaped anyway), ask the clock or
 * the dice (a message must come out the same whenever it is rendered again), or nest lists in themselves.
 */
import { type Context, filters as library } from 'liquidjs';
import { charge, chargeSearch, LimitError } from './template-limits.ts';
import { PreparedText, rawText } from './template-slots.ts';

interface FilterThis {
  context: Context;
}
type Filter = (this: FilterThis, ...values: unknown[]) => unknown;

const fromLibrary = [
  ...['abs', 'at_least', 'at_most', 'ceil', 'divided_by', 'floor', 'minus', 'modulo', 'plus', 'round', 'times'],
  ...['append', 'capitalize', 'downcase', 'lstrip', 'prepend', 'remove', 'remove_first', 'remove_last', 'replace'],
  ...['replace_first', 'replace_last', 'rstrip', 'slice', 'split', 'squish', 'strip', 'strip_html', 'strip_newlines'],
  ...['truncate', 'truncatewords', 'upcase', 'normalize_whitespace', 'number_of_words', 'slugify', 'to_integer'],
  ...['compact', 'concat', 'find', 'first', 'has', 'join', 'last', 'map', 'reject', 'reverse', 'size', 'sort'],
  ...['sort_natural', 'sum', 'uniq', 'where', 'array_to_sentence_string'],
  ...['base64_encode', 'base64_decode', 'sha256', 'hmac_sha256', 'url_decode', 'default'],
] as const;

/** What the date filter needs to know about the one that is written to. */
export interface Clock {
  now: unknown;
  timezone: string;
}

const own: Record<string, Filter> = {
  json: (value, indent) =>
    new PreparedText('json', JSON.stringify(unwrap(value) ?? null, null, Number(indent) || undefined).toWellFormed()),
  url_encode: value => new PreparedText('url', encodeURIComponent(rawText(value).toWellFormed())),
  // Every value is escaped for where it stands; doing it here as well would show.
  escape: value => value,
  date(value, format, zone) {
    const { now, timezone } = this.context as Context & Clock;
    const time = value === 'now' || value === 'today' ? now : value;
    const named = zone === undefined || zone === null ? timezone : zone;
    const known = typeof named === 'number' ? named : knownTimezone(rawText(named));
    return (library.date as Filter).call(this, time instanceof Date ? time.toISOString() : time, format, known);
  },
};

export const filters: Record<string, Filter> = Object.create(null);
// Their property is read as Liquid again, where a range would be out of reach of the fence around ranges.
const reading = ['find', 'has', 'reject', 'where'];
const searching = ['remove', 'remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last', 'split'];
for (const name of fromLibrary) {
  const filter = (library as unknown as Record<string, Filter>)[name]!;
  const fenced = reading.includes(name) ? withPlainProperty(filter) : filter;
  filters[name] = counted(searching.includes(name) ? withSearch(fenced) : fenced);
}
for (const [name, filter] of Object.entries(own)) filters[name] = counted(filter);

function counted(filter: Filter): Filter {
  return function (...values) {
    charge(this.context, values);
    return filter.apply(this, values);
  };
}

function withPlainProperty(filter: Filter): Filter {
  return function (...values) {
    if (rawText(values[1]).includes('..')) throw new LimitError('has a range where the name of a property belongs');
    return filter.apply(this, values);
  };
}

function withSearch(filter: Filter): Filter {
  return function (...values) {
    chargeSearch(this.context, values[0], values[1]);
    return filter.apply(this, values);
  };
}

function unwrap(value: unknown): unknown {
  return value instanceof PreparedText ? value.text : value;
}

const timezones = new Map<string, string>();

/** The zone itself, or UTC where there is none of that name. */
export function knownTimezone(name: string): string {
  const known = timezones.get(name);
  if (known !== undefined) return known;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch {
    return 'UTC';
  }
  timezones.set(name, name);
  return name;
}
