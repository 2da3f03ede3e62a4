/** Stored text does not reorder the sentence that it is inserted into. */
import { expect, test } from 'vitest';
import { texts as common } from '../../console/src/texts/common.ts';
import { dotted, isolated } from '../../console/src/texts/isolated.ts';
import { texts as pauses } from '../../console/src/texts/pauses.ts';
import { isolate } from '../../src/core/text/bidi.ts';
import { fillText } from '../../src/core/text/text.ts';

const reversed = 'Acme \u202egnp.exe';

test('text that changes the direction is isolated, and other text is unchanged', () => {
  expect(['Acme', 'Zürich 東京 😀', ''].map(isolate)).toEqual(['Acme', 'Zürich 東京 😀', '']);
  expect([reversed, 'שלום', 'مرحبا', 'a\u200f'].map(isolate)).toEqual(
    [reversed, 'שלום', 'مرحبا', 'a\u200f'].map(text => `\u2068${text}\u2069`),
  );
});

test('text cannot end the isolation', () => {
  expect(isolate('a\u2069\u202eb')).toBe('\u2068a\u202eb\u2069');
  expect(isolate('\u2067a\u2069\u2069\u2066b')).toBe('\u2068\u2067a\u2069\u2066b\u2069\u2069');
});

test('values are isolated in the texts of the console, in titles of its pages and in those of recipients', () => {
  const name = isolate(reversed);
  expect(pauses.pausedToast(reversed)).toBe(`Paused ${name}. Messages are kept until you resume.`);
  expect(pauses.pauseQuestion(reversed)).toBe(`Pause ${name}?`);
  expect(common.documentTitle(reversed)).toContain(name);
  expect(
    isolated({ nested: { text: (value: string, count: number) => `${value} ${count}` } }).nested.text(reversed, 1),
  ).toBe(`${name} 1`);
  expect(dotted(reversed, null, '', 'mail', 0)).toBe(`${name} · mail · 0`);
  expect(fillText('Resolved by {by}.', { by: reversed })).toBe(`Resolved by ${name}.`);
});
