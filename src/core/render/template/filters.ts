/**
 * The filters that templates may use, each with its cost. Filters are left out that produce markup (values are escaped
 * anyway), depend on the clock or on chance (a message must render the same every time), or nest lists in themselves.
 */
import { type Context, Drop, filters as library } from 'liquidjs';
import { lookUp } from '../../lookup.ts';
import { type Budget, itemWeight, LimitError, templateLimits, weigh } from './limits.ts';
import { PreparedText, rawText } from './slots.ts';

interface FilterThis {
  context: Context;
}
type Filter = (this: FilterThis, ...values: unknown[]) => unknown;

/** A call of a filter, as its cost sees it. */
interface FilterCall {
  /** The value that the filter is applied to, then its arguments. */
  values: readonly unknown[];
  /** Units of work that are left: a cost above this need not be exact. */
  left: number;
}

/**
 * Returns an upper bound of the work of a call in units (`itemWeight`), before the filter runs. Two costs are charged
 * elsewhere, while it runs: the properties that it reads, and the memory that the library reports as allocated.
 */
type Cost = (call: FilterCall) => number;

/** The filter looks only at the value itself. */
const constant: Cost = ({ values }) => values.length * itemWeight;
/** The filter reads everything in its values once. */
const linear: Cost = call => constant(call) + weighAll(call);
/** The filter copies a list without looking into its items. */
const shallow: Cost = ({ values, left }) =>
  values.reduce<number>(
    (sum, value) => sum + (Array.isArray(value) ? value.length * 2 : weigh(value, left)),
    itemWeight,
  );
/** The filter searches a text in a text, which can take the product of their lengths: 0.8 ns for each pair of characters. */
const search: Cost = call => linear(call) + (weigh(call.values[0], call.left) * weigh(call.values[1], call.left)) / 64;
/** The filter splits the property name again for each item. */
const perItem: Cost = call => linear(call) + countItems(call) * (itemWeight + weigh(call.values[1], call.left) / 4);
/** The filter compares items, long ones possibly to their ends. */
const sorting: Cost = call => (perItem(call) + countItems(call) * itemWeight) * (1 + Math.log2(countItems(call) + 1));

/** The available filters: one without a cost here cannot be used. */
const costs: Record<string, Cost> = {
  ...each(['abs', 'at_least', 'at_most', 'ceil', 'divided_by', 'floor', 'minus', 'modulo', 'plus', 'round'], linear),
  ...each(['times', 'to_integer', 'append', 'prepend', 'capitalize', 'downcase', 'upcase', 'lstrip', 'rstrip'], linear),
  ...each(['strip', 'squish', 'strip_html', 'strip_newlines', 'normalize_whitespace', 'number_of_words'], linear),
  ...each(['slice', 'truncate', 'truncatewords', 'slugify', 'url_encode', 'url_decode'], linear),
  ...each(['base64_encode', 'base64_decode', 'sha256', 'hmac_sha256'], call => linear(call) + 4 * itemWeight),
  ...each(['remove', 'remove_first', 'remove_last', 'replace', 'replace_first', 'replace_last', 'split'], search),
  ...each(['default', 'escape', 'first', 'last', 'size'], constant),
  ...each(['compact', 'concat', 'reverse'], shallow),
  ...each(['find', 'has', 'map', 'reject', 'sum', 'where'], perItem),
  ...each(['sort', 'sort_natural'], sorting),
  // Whole numbers can be chosen so that they collide in the set: each is then compared with all others.
  uniq: call => shallow(call) + countItems(call) ** 2 / 128,
  ...each(['join', 'array_to_sentence_string'], call => 2 * linear(call) + countItems(call) * weigh(call.values[1])),
  // An item is indented by up to 10 characters for each of up to 32 levels.
  json: call => linear(call) * (call.values[1] ? 20 : 1),
  date: call => {
    const weight = linear(call) + 4 * itemWeight;
    return weight > call.left ? weight : weight + dateNameWeight * countDateNames(call.values[1]);
  },
};

function each(names: readonly string[], cost: Cost): Record<string, Cost> {
  return Object.fromEntries(names.map(name => [name, cost]));
}

function weighAll({ values, left }: FilterCall): number {
  let weight = 0;
  for (const value of values) {
    weight += weigh(value, left - weight);
    if (weight > left) break;
  }
  return weight;
}

function countItems({ values: [value] }: FilterCall): number {
  return Array.isArray(value) ? value.length : 1;
}

/** The library creates a formatter for each name of a day, month or time zone, which takes up to 0.2 ms. */
const dateNameWeight = 1_000;
const dateNames = /%[^a-zA-Z%]*[EO]?[aAbBchxXZ]/g;

function countDateNames(format: unknown): number {
  let count = 0;
  for (const _ of rawText(format).matchAll(dateNames)) count++;
  return count;
}

/** What the date filter reads from the context: the time of the rendering and the recipient's time zone. */
export interface Clock {
  now: unknown;
  timezone: string;
}

const own: Record<string, Filter> = {
  json: (value, indent) =>
    new PreparedText('json', JSON.stringify(unwrap(value) ?? null, null, Number(indent) || undefined).toWellFormed()),
  url_encode: value => new PreparedText('url', encodeURIComponent(rawText(value).toWellFormed())),
  // Every value is escaped for its position in the output; escaping here as well would be visible.
  escape: value => value,
  date(value, format, zone) {
    const { now, timezone } = this.context as Context & Clock;
    const time = value === 'now' || value === 'today' ? now : value;
    const target = zone === undefined || zone === null ? timezone : zone;
    const date = toDate(time);
    if (date === undefined) return time;
    if (typeof target === 'number') return (library.date as Filter).call(this, date, format, target);
    const formatter = offsetFormatter(rawText(target), this.context.memoryLimit);
    // The library needs the zone's name only for %Z, and takes 0.5 ms to find the offset of a named zone.
    const needsName = rawText(format).includes('Z');
    if (needsName) this.context.memoryLimit.use(newFormatterWeight * 2);
    return (library.date as Filter).call(
      this,
      date,
      format,
      needsName ? formatter.timezone : offsetAt(formatter, date),
    );
  },
};

/** Returns the time that the library would read from a value, or undefined if it would read none. */
function toDate(value: unknown): Date | undefined {
  const plain = value instanceof Drop ? value.valueOf() : value;
  if (plain === null || plain === undefined) return undefined;
  const isSeconds = typeof plain === 'number' || (typeof plain === 'string' && /^\d+$/.test(plain));
  const date = new Date(isSeconds ? Number(plain) * 1000 : (plain as string));
  return Number.isNaN(date.getTime()) ? undefined : date;
}

export const filters: Record<string, Filter> = Object.create(null);
const withProperty = ['find', 'has', 'map', 'reject', 'sort', 'sort_natural', 'sum', 'where'];
for (const [name, cost] of Object.entries(costs)) {
  const filter = lookUp(own, name) ?? (library as unknown as Record<string, Filter>)[name]!;
  const takesProperty = withProperty.includes(name);
  filters[name] = function (...values) {
    const budget = this.context.memoryLimit as unknown as Budget;
    budget.use(cost({ values, left: budget.work }));
    if (takesProperty) requireShortProperty(values[1]);
    return filter.apply(this, values);
  };
}

/** Some filters parse the property name as Liquid again, where a range would bypass `safeRange`. */
function requireShortProperty(property: unknown): void {
  const { propertyLength, propertyParts } = templateLimits;
  const name = rawText(property);
  if (name.length > propertyLength) {
    throw new LimitError(`has a property name of more than ${propertyLength} characters; shorten it`);
  }
  if (name.split(/[.[]/).length > propertyParts) {
    throw new LimitError(`has a property name of more than ${propertyParts} parts; shorten it`);
  }
  if (name.includes('..')) throw new LimitError('has a range where a property name is expected');
}

function unwrap(value: unknown): unknown {
  return value instanceof PreparedText ? value.text : value;
}

interface OffsetFormatter {
  timezone: string;
  format: Intl.DateTimeFormat;
}

const maxFormatters = 500;
/** Creating a formatter takes up to 0.3 ms. */
const newFormatterWeight = 3_000;
const formatters = new Map<string, OffsetFormatter>();

function offsetFormatter(name: string, budget?: Pick<Budget, 'use'>): OffsetFormatter {
  const cached = formatters.get(name);
  if (cached) return cached;
  budget?.use(newFormatterWeight);
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
    const formatter = { timezone: name, format };
    if (formatters.size >= maxFormatters) formatters.clear();
    formatters.set(name, formatter);
    return formatter;
  } catch (error) {
    if (name === 'UTC') throw error;
    return offsetFormatter('UTC');
  }
}

/** Returns the offset in minutes, positive west of Greenwich, as the library expects it. */
function offsetAt({ format }: OffsetFormatter, date: Date): number {
  const [, sign, hours, minutes, seconds = '0'] =
    /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(format.format(date)) ?? [];
  if (sign === undefined) return 0;
  const offset = Number(hours) * 60 + Number(minutes) + Number(seconds) / 60;
  return sign === '+' ? -offset : offset;
}

/** Returns the time zone itself, or UTC if there is none of that name. */
export function resolveTimezone(name: string): string {
  return offsetFormatter(name).timezone;
}
