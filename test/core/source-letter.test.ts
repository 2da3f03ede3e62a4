import { expect, test } from 'vitest';
import { readLetter } from '../../src/core/sources/letter.ts';

const mail = (html: string) =>
  Buffer.from(
    `From: a@x.test\r\nSubject: S\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}`,
  );

test('a mail without a plain text part is read without tags, styles and entities', () => {
  const html =
    '<STYLE>p { color: red }</STYLE ><p>İstanbul&nbsp;&eacute;&#x41;<br>İ<script>"İ"</Script>disk &lt;b&gt; full';
  expect(readLetter(mail(html)).text).toBe('İstanbul éA\nİdisk <b> full');
});

test('a mail of thousands of styles is read in time', () => {
  const began = performance.now();
  expect(readLetter(mail(`${'<style></style>'.repeat(15_000)}text`)).text).toBe('text');
  expect(performance.now() - began).toBeLessThan(250);
});
