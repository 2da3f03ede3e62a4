/** Every text of the console is in its catalogues, so that it can be reviewed and translated in one place. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript-5';
import { expect, test } from 'vitest';
import { countOf } from '../../console/src/texts/count-of.ts';
import { root } from '../support/process.ts';

const source = path.join(root, 'console/src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  name => name.endsWith('.tsx') && !name.startsWith('texts'),
);
const isText = (text: string) => /\p{L}{2}/u.test(text);
/** Attributes with visible or announced text. */
const textAttributes = /^(label|title|description|placeholder|aria-label|submit|lead|head|meaning)$/;

/** Code and code examples are the same in every language. */
function isCode(node: ts.Node): boolean {
  const element = node.parent;
  return ts.isJsxElement(element) && /^<(Code|Kbd)\b|\bmono\b/.test(element.openingElement.getText());
}

const isExample = (text: string) => /^[{+]|[`@=]|^default$|^(production|receipt|main-mail)$/.test(text);

test.each(files)('%s contains no hard-coded text', name => {
  const file = ts.createSourceFile(name, readFileSync(path.join(source, name), 'utf8'), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && isText(node.text) && !isCode(node)) found.push(node.text.trim());
    if (ts.isJsxAttribute(node) && textAttributes.test(node.name.getText()) && node.initializer) {
      const { initializer: value } = node;
      if (ts.isStringLiteral(value) && isText(value.text) && !isExample(value.text)) found.push(value.text);
    }
    node.forEachChild(visit);
  };
  visit(file);
  expect(found).toEqual([]);
});

test('texts are whole messages, not pieces to join', () => {
  const catalogs = readdirSync(path.join(source, 'texts'), { encoding: 'utf8' });
  const found = catalogs.flatMap(name =>
    [
      ...readFileSync(path.join(source, 'texts', name), 'utf8').matchAll(
        /['`]([ ,.;][^'`\n]*\p{L}{2}[^'`\n]*|[^'`\n]*\p{L} )['`],$/gmu,
      ),
    ].map(([piece]) => `${name}: ${piece}`),
  );
  expect(found).toEqual([]);
});

test('counts a noun in the singular and the plural', () => {
  expect(['message', 'delivery', 'user', 'new user', 'address', 'day'].map(noun => countOf(1, noun))).toEqual([
    '1 message',
    '1 delivery',
    '1 user',
    '1 new user',
    '1 address',
    '1 day',
  ]);
  expect(['message', 'delivery', 'user', 'new user', 'address', 'day'].map(noun => countOf(2_000, noun))).toEqual([
    '2,000 messages',
    '2,000 deliveries',
    '2,000 users',
    '2,000 new users',
    '2,000 addresses',
    '2,000 days',
  ]);
  expect(countOf(0, 'row')).toBe('0 rows');
  expect(countOf(1, 'message', { isAtLeast: true })).toBe('1+ messages');
  expect(countOf(12_300, 'message', { isCompact: true })).toBe('12.3K messages');
});

/** A number directly before a noun in the plural, or a choice between both forms. */
const uncounted =
  /\$\{(?!countOf)[^}]*\} (other |waiting |more )?(messages|deliveries|occurrences|triggers|people|members|users|rows|items|sessions|addresses|webhooks|keys|characters|segments|events|attempts|bytes|times|days|hours|minutes)\b|=== 1 \? [^:]*'\w+' : /;
const sources = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  name => /\.tsx?$/.test(name) && !/^(api-types|texts\/count-of)\.ts$/.test(name),
);

test.each(sources)('%s counts nouns with countOf', name => {
  const lines = readFileSync(path.join(source, name), 'utf8').split('\n');
  expect(lines.filter(line => uncounted.test(line) && !line.includes("'is' : 'are'"))).toEqual([]);
});
