/** Comments, titles and documents use plain English and the terms of docs/glossary.md. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

/** Words that need a translation, and what to write instead. */
const words: Record<string, RegExp> = {
  'reported, logged, notified or received': /\b(told|tells? of|hears|heard of)\b/i,
  'the user, the caller, each recipient, no one': /\b(whoever|somebody|anybody|nobody|those who)\b/i,
  'is in, is duplicated': /\bstands (in|here|there|twice)\b/i,
  again: /\b(anew|once more)\b/i,
  'previous, its own': /\b(of before|of its own)\b/i,
  'fix, automatically': /\b(mend(s|ed)?|by itself)\b/i,
  'digest, collect': /\bgather(s|ed|ing)?\b/i,
  'circuit open, backing off': /\b(is resting|rests)\b/i,
  'text, template, render snapshot': /\bwordings?\b/i,
  'target, unknown recipients, sample': /\b(doomed|strangers?|aimed|imagined)\b/i,
  timeout: /\b(im)?patience\b/i,
  'test send, attempt': /\btrials?\b(?! account)/i,
};

/** Beginnings of names, and what to use instead. */
const prefixes: Record<string, RegExp> = {
  max: /\bmost[A-Z]\w*/,
  default: /\busual[A-Z]\w*/,
  'min or max': /\b(shortest|longest)[A-Z]\w*/,
};

const code = globSync('{src,test,console/src,bench,chaos,scripts,sdk/*/src}/**/*.{ts,tsx}').filter(
  file => !/api-types\.ts$|client\/src\/api\.ts$|project\/language\.test\.ts$/.test(file),
);
const documents = globSync(['*.md', 'docs/**/*.md', 'sdk/*/README.md', 'deploy/**/*.md']);
const comment = /^\s*(?:\/\*\*?|\*|\/\/)(.*)|\s\/\/ (.*)/;
const title = /^\s*(?:(?:test|it|describe)\S*\(|\}?\]\)\()(['"`].*)/;

/** Returns the comments and test titles of a file, or all lines of a document, without quoted code. */
function* proseOf(file: string): Iterable<[line: number, text: string]> {
  for (const [i, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    const text = file.endsWith('.md') ? line : (title.exec(line)?.[1] ?? comment.exec(line)?.slice(1).join(''));
    if (text) yield [i + 1, text.replaceAll(/`[^`]*`/g, '')];
  }
}

describe('plain English', () => {
  test('has no words that need a translation in comments, titles and documents', () => {
    const found = [...code, ...documents].flatMap(file =>
      [...proseOf(file)].flatMap(([line, text]) =>
        Object.entries(words)
          .filter(([, word]) => word.test(text))
          .map(([instead, word]) => `${file}:${line}: "${word.exec(text)![0]}" (write: ${instead})`),
      ),
    );
    expect(found).toEqual([]);
  });

  test('has no names with an unusual prefix', () => {
    const found = code.flatMap(file => {
      const text = readFileSync(file, 'utf8');
      return Object.entries(prefixes).flatMap(([instead, prefix]) => {
        const name = prefix.exec(text)?.[0];
        return name ? [`${file}: ${name} (use: ${instead})`] : [];
      });
    });
    expect(found).toEqual([]);
  });
});
