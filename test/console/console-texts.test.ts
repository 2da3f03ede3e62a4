/** Every text of the console is in its catalogues, so that it can be reviewed and translated in one place. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript-5';
import { expect, test } from 'vitest';
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
