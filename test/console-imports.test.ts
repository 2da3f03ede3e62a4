/** No two files of the console need each other: each can be read, tested and loaded by itself. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from './support/process.ts';

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

function findCircle(name: string, above: string[], done: Set<string>): string[] | undefined {
  if (above.includes(name)) return [...above.slice(above.indexOf(name)), name];
  if (done.has(name)) return undefined;
  done.add(name);
  for (const next of imports.get(name) ?? []) {
    const circle = findCircle(next, [...above, name], done);
    if (circle) return circle;
  }
  return undefined;
}

test('nothing imports itself by way of others', () => {
  const done = new Set<string>();
  expect([...imports.keys()].flatMap(name => findCircle(name, [], done) ?? [])).toEqual([]);
  // The search has looked at something.
  expect(imports.get('main.tsx')).toContain('routes.tsx');
});
