/** Names from outside must not find what objects inherit, such as `constructor`: `lookUp` of core/lookup.ts does not. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { lookUp } from '../../src/core/lookup.ts';
import { sources, textOf } from '../support/sources.ts';

/** Constants with any keys. Those made with `Object.create(null)` inherit nothing. */
const declaration = /^(?:export )?const (\w+): (?:Readonly<|Partial<)*Record<string,.* = \{/gm;

function tablesIn(file: string): string[] {
  return [...textOf(file).matchAll(declaration)].map(([, name]) => name!);
}

/** Returns the tables that a file declares or imports. */
function tablesOf(file: string): string[] {
  const imports = [...textOf(file).matchAll(/^import \{([^}]*)\} from '(\.[^']*)';/gm)];
  const imported = imports.flatMap(([, names, from]) => {
    const origin = path.join(path.dirname(file), from!);
    if (!sources.includes(origin)) return [];
    const own = tablesIn(origin);
    return names!
      .split(',')
      .map(name => name.trim())
      .filter(name => own.includes(name));
  });
  return [...tablesIn(file), ...imported];
}

/** Returns the expressions that index a table by anything but a literal, or test it with `in`. */
function findLookups(text: string, tables: readonly string[]): string[] {
  return tables.flatMap(table => [
    ...(text.match(new RegExp(`(?<![\\w.])${table}\\[(?!['"\\d]).*`, 'g')) ?? []),
    ...(text.match(new RegExp(`(?<!['"\\w])[a-z]\\w* in ${table}\\b.*`, 'g')) ?? []),
  ]);
}

test('no table is indexed by a name that could be inherited', () => {
  const found = sources.flatMap(file => findLookups(textOf(file), tablesOf(file)).map(text => `${file}: ${text}`));
  expect(found.map(one => `${one}: use lookUp of core/lookup.ts, or a Map`)).toEqual([]);
});

test('the registries of Deps are not indexed by names either', () => {
  const form =
    /\b(?:available|providers|feedbackReaders|readers)\[(?:String\(|use\b|provider\b|service\b|name\b|\w+\.use\b).*/g;
  const found = sources.flatMap(file => (textOf(file).match(form) ?? []).map(text => `${file}: ${text}`));
  expect(found).toEqual([]);
});

test('the search finds tables, and how they are used', () => {
  expect(sources.flatMap(tablesIn).length).toBeGreaterThan(40);
  const lookups = ['types[String(event.event)]', 'types[name]', 'name in types'];
  for (const text of lookups) expect(findLookups(`const found = ${text};`, ['types'])).toHaveLength(1);
  for (const text of ["types['a']", 'event.types[name]', 'lookUp(types, name)'])
    expect(findLookups(text, ['types'])).toEqual([]);
});

test('what an object inherits is not found', () => {
  const table = { a: 1 };
  expect(lookUp(table, 'a')).toBe(1);
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'b']) {
    expect(lookUp(table, name)).toBeUndefined();
  }
});
