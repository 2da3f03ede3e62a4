import { describe, expect, test } from 'vitest';
import {
  attachmentLimits,
  describeBytes,
  fileNameOfUrl,
  findContentError,
  findReferenceErrors,
  toFileName,
  toMediaType,
} from '../../src/core/message/attachments.ts';

test.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ann\\a b.pdf', 'a b.pdf'],
  ['a\r\nX: y\r\n.pdf', 'aX y.pdf'],
  ['evil\u202efdp.exe', 'evilfdp.exe'],
  ['"quoted" <name>.txt', 'quoted name.txt'],
  ['.hidden', 'hidden'],
  [' .. ', undefined],
  ['', undefined],
])('the file name %j becomes %j', (text, name) => {
  expect(toFileName(text)).toBe(name);
});

test('a long file name is cut, but not its extension', () => {
  const name = toFileName(`${'😀'.repeat(200)}.pdf`)!;
  expect(name.length).toBeLessThanOrEqual(attachmentLimits.name);
  expect([name.endsWith('.pdf'), name.isWellFormed()]).toEqual([true, true]);
});

test.each([
  ['https://x.test/a/b%20c.pdf?name=d.pdf', 'b c.pdf'],
  ['https://x.test/a/%2e%2e%2fb.pdf', 'b.pdf'],
  ['https://x.test/%ff.pdf', '%ff.pdf'],
  ['https://x.test/', 'attachment'],
])('the file at %s is called %s', (url, name) => {
  expect(fileNameOfUrl(url)).toBe(name);
});

test.each([
  ['Text/Plain; charset=utf-8', 'text/plain'],
  [undefined, 'application/octet-stream'],
  ['text', undefined],
  ['text/plain\r\nX: y', undefined],
])('the header %j is the media type %j', (header, type) => {
  expect(toMediaType(header)).toBe(type);
});

describe('content', () => {
  const bytes = (text: string) => Buffer.from(text, 'latin1');
  test.each<[string, string, Buffer, RegExp | undefined]>([
    ['a.pdf', 'application/pdf', bytes('%PDF-1.7'), undefined],
    ['a.pdf', 'application/pdf', bytes('<html>'), /not of the type/],
    [
      'a.docx',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      bytes('PK\x03\x04'),
      undefined,
    ],
    ['a.csv', 'text/csv', bytes('a\0b'), /not of the type/],
    ['a.dat', 'application/x-unknown', bytes('\0\x01'), undefined],
    ['a.JS', 'text/plain', bytes('x'), /extension .js/],
    ['a.txt', 'text/plain', bytes('#!/bin/sh'), /programs/],
    ['a', 'application/octet-stream', bytes('\x7fELF'), /programs/],
    ['a', 'application/x-msdownload', bytes('x'), /programs/],
  ])('%s as %s with %j: %s', (name, type, head, problem) => {
    const found = findContentError(name, type, head);
    if (problem) expect(found).toMatch(problem);
    else expect(found).toBeUndefined();
  });
});

test('a reference has an id or a url, and neither a file nor a content_id twice', () => {
  const id = '01890a5d-ac96-774b-bcce-b302099a8057';
  const url = 'https://x.test/a';
  const references = [{ id, content_id: 'a' }, { url, content_id: 'a' }, { id: id.toUpperCase() }, { id, url }, {}];
  expect(Object.keys(findReferenceErrors(references, 'at'))).toEqual(['at/1/content_id', 'at/2', 'at/3', 'at/4']);
});

test.each(['setup.exe', 'a/b\\Setup.EXE', 'setup.exe ', 'setup.exe.', 'setup.e\u200bxe', `${'a'.repeat(200)}.exe`])(
  'a reference cannot name its file %j, like a program',
  name => {
    const url = 'https://x.test/report.pdf';
    const errors = findReferenceErrors([{ url }, { url: `${url}?2`, name }], 'at');
    expect(errors).toEqual({ 'at/1/name': [expect.stringContaining('extension .exe')] });
  },
);

test.each([
  [999, '999 B'],
  [1_000, '1 kB'],
  [999_499, '999 kB'],
  [5_242_880, '5.2 MB'],
  [999_949_999, '999.9 MB'],
  [21_474_836_480, '21.5 GB'],
])('%i bytes are %s', (bytes, text) => {
  expect(describeBytes(bytes)).toBe(text);
});
