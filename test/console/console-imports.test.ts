/** The structure of the console: no import cycles, and one place for the keys of queries. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../support/process.ts';

const source = path.join(root, 'console/src');
const statement = /^(?:import|export)\s+(?!type\s)[^;]*?from '(\.[^']+)';/gm;

const imports = new Map(
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => {
      const text = readFileSync(path.join(source, name), 'utf8');
      const found = [...text.matchAll(statement)].map(([, to]) => path.join(path.dirname(name), to!));
      return [name, found] as const;
    }),
);

function findCycle(name: string, above: string[], done: Set<string>): string[] | undefined {
  if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
  if (done.has(name)) return undefined;
  done.add(name);
  for (const next of imports.get(name) ?? []) {
    const cycle = findCycle(next, [...above, name], done);
    if (cycle) return cycle;
  }
  return undefined;
}

test('no file imports itself indirectly', () => {
  const done = new Set<string>();
  expect([...imports.keys()].flatMap(name => findCycle(name, [], done) ?? [])).toEqual([]);
  // The imports were actually found.
  expect(imports.get('main.tsx')).toContain('routes.tsx');
});

test('the keys of queries are built in one file', () => {
  const found = [...imports.keys()].filter(name => {
    const text = readFileSync(path.join(source, name), 'utf8');
    return /queryKey: \[(?!\.\.\.queryKey\b)/.test(text);
  });
  expect(found).toEqual(['queries.ts']);
});
