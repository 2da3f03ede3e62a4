/** How names, emails and addresses are compared. */
import { describe, expect, test } from 'vitest';
import { fold, isEmail } from '../../src/core/text/text.ts';
import { sources, textOf } from '../support/sources.ts';

const ascii = /^[\0-\x7f]+$/;

describe('folding', () => {
  test('ignores case, and the ways to write an accent', () => {
    expect(fold('Jane@ACME.test')).toBe('jane@acme.test');
    expect(fold('E\u0301')).toBe('\u00e9');
    expect(fold('\u212b')).toBe('\u00e5');
  });

  test('never turns a character that is not ASCII into ASCII', { tags: ['sweep'] }, () => {
    const wrong: string[] = [];
    for (let code = 0x80; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      if (character.normalize('NFKC').toLowerCase() === character) continue;
      if (ascii.test(fold(character)) || ascii.test(fold(fold(character)))) wrong.push(`U+${code.toString(16)}`);
    }
    expect(wrong).toEqual([]);
  });

  test('keeps the characters around the one that it does not fold', () => {
    expect(fold('JANE\u212aE\u0301X')).toBe('jane\u212a\u00e9x');
    expect(fold('\u212a')).not.toBe(fold('K'));
  });

  test('is never left to the database, whose lower() depends on the collation', () => {
    const found = sources.filter(file => /\b(?:lower|upper)\([^)]|\bilike\b|\bcitext\b/i.test(textOf(file)));
    expect(found).toEqual([]);
  });
});

test.each([
  ['the Kelvin sign', '\u212aate@x.test'],
  ['a fullwidth letter', 'jane@\uff58.test'],
  ['the long s', 'je\u017fs@x.test'],
  ['the dotted capital I', '\u0130da@x.test'],
  ['a ligature', '\ufb01n@x.test'],
  ['a mathematical letter', '\u{1d5c3}ane@x.test'],
  ['a superscript', 'jane\u00b2@x.test'],
])('an email with %s is refused', (_what, email) => expect(isEmail(email)).toBe(false));

test.each([
  'jos\u00e9@x.test',
  'stra\u00dfe@x.test',
  '\u0131\u015f\u0131k@x.test',
  '\u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a',
  'o\u0327@x.test',
])('the email %s is accepted', email => expect(isEmail(email)).toBe(true));
