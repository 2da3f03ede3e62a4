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

/** Phrases that users should not read any more, in the console, on hosted pages, in the CLI and in errors. */
const phrases: Record<string, RegExp> = {
  'No recipients': /\bNobody\b|\bnobody [a-z]/,
  'Provider paused after repeated failures': /\brests? after\b|circuit is open/i,
  'Rate limit reached': /got as much|as (much|long|many) as they may|limit of messages for now/i,
  'Waiting for the digest at …': /\bgathers?\b|gathered with/i,
  "The provider's response was lost; it may have been delivered": /(answer|response) was lost after/i,
  'Gave up: time limit reached': /steps had (taken|passed)|time limit of its steps/i,
  'Maximum messages per person per day': /\bmost messages per/i,
  'Your sign-in timed out. Sign in again.': /\bthis took too long/i,
  'Preferences, Webhooks': /recipients decide\b|be told what/i,
  'Applies configuration files': /what the files say/i,
  'test send, attempt': /\btrial (send|message)/i,
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

/** Returns the string literals with several words, which users may read: queries, XML tags and single words are code. */
function textsOf(source: string): string[] {
  const found = source.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g);
  return [...found]
    .map(([, ...quoted]) => (quoted.find(text => text !== undefined) ?? '').replaceAll(/`[^`]*`|<\/?\w+/g, ''))
    .filter(text => /[a-z]+ [a-z]+/i.test(text) && !/\b(select|insert|update|from|with) /.test(text));
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

  test('has none of the old phrases in texts that users read', () => {
    const shown = [
      ...code.filter(file => /^(src|console|sdk)/.test(file)),
      ...globSync('src/http/pages/assets/*.{html,js}'),
    ];
    const found = shown.flatMap(file =>
      textsOf(readFileSync(file, 'utf8')).flatMap(text =>
        Object.entries({ ...words, ...phrases })
          .filter(([, phrase]) => phrase.test(text))
          .map(([instead, phrase]) => `${file}: "${phrase.exec(text)![0]}" (write: ${instead})`),
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
