/** Inserts stored names and other values into texts so that their direction does not reorder the text around them. */
import { isolate } from '../../../src/core/text/bidi.ts';
import type { Part } from './part.ts';

/** Isolates every string that is passed to a text of the catalog. */
export function isolated<Catalog extends object>(catalog: Catalog): Catalog {
  return Object.fromEntries(Object.entries(catalog).map(([name, text]) => [name, wrap(text)])) as Catalog;
}

function wrap(text: unknown): unknown {
  if (typeof text === 'function') {
    return (...values: unknown[]) => text(...values.map(value => (typeof value === 'string' ? isolate(value) : value)));
  }
  const isCatalog = typeof text === 'object' && text !== null && Object.getPrototypeOf(text) === Object.prototype;
  return isCatalog ? isolated(text) : text;
}

/** Joins what there is with dots. */
export function dotted(...parts: Part[]): string {
  return parts
    .filter(part => part !== null && part !== undefined && part !== '')
    .map(part => isolate(String(part)))
    .join(' · ');
}
