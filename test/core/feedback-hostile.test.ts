/** No mail keeps the process busy, whatever it contains. */
import { describe, expect, test } from 'vitest';
import { parseMail } from '../../src/core/feedback/mime.ts';
import { parseJson } from '../../src/providers/feedback/payload.ts';
import { smtp } from '../../src/providers/feedback/smtp.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';
import { shapes } from '../support/hostile-shapes.ts';

const read = (mail: string) => smtp.read({ contentType: '', bytes: Buffer.from(mail) });

describe('a hostile mail', () => {
  const head = 'From: MAILER-DAEMON@acme.test\r\nTo: news@acme.test\r\nSubject: Undelivered mail\r\n';
  const multipart = `${head}Content-Type: multipart/report; boundary="limit"\r\n\r\n`;
  const status = '--limit\r\nContent-Type: message/delivery-status\r\n\r\n';
  const size = 1_000_000;
  const fill = (unit: string) => unit.repeat(size / unit.length);
  /** Words that begin as many phrases as possible. */
  const dense = 'user not your mailbox account sender domain host no '.repeat(90);
  const mails: Record<string, string> = {
    'of parts': multipart + fill('--limit\r\n\r\nx\r\n'),
    'of boundaries': multipart + fill('--limit\r\n'),
    'of nested parts': multipart + fill('--limit\r\nContent-Type: multipart/mixed; boundary="limit"\r\n\r\n'),
    'of header fields': `${fill('X-A: b\r\n')}\r\n`,
    'of a folded header': `Subject: a\r\n${fill(' a\r\n')}\r\n`,
    'of encoded words': `Subject: ${fill('=?utf-8?Q?a?= ')}\r\n\r\n`,
    'of boundaries without a value': `Content-Type: multipart/mixed;${fill(' boundary=')}\r\n\r\n`,
    'of recipients': `${multipart}${status}${fill('Final-Recipient: rfc822; jane@example.test\r\nAction: failed\r\n\r\n')}`,
    'of recipients in prose': `${head}\r\n${Array.from({ length: size / 40 }, (_, i) => `<user${i}@b.test>: 550 5.1.1 x`).join('\r\n')}`,
    'of one diagnosis': `${multipart}${status}Final-Recipient: rfc822; jane@example.test\r\nDiagnostic-Code: smtp; ${fill('550 ')}`,
    'of recipients with long diagnoses': `${multipart}${status}${Array.from({ length: 50 }, (_, i) => `Final-Recipient: rfc822; u${i}@b.test\r\nAction: failed\r\nDiagnostic-Code: smtp; 550 ${dense}\r\n`).join('\r\n')}`,
    'of recipients with long texts': `${head}\r\n${Array.from({ length: 50 }, (_, i) => `<u${i}@b.test>: 550 ${dense}`).join('\r\n')}`,
    'of lines about addresses': `${head}\r\n${Array.from({ length: 2_000 }, (_, i) => `user not mailbox account u${i}@b.test`).join('\r\n')}`,
    'of one status': `${multipart}${status}Action: failed\r\nStatus: ${fill('(')}`,
    'of tags': `${head}Content-Type: text/html\r\n\r\n${fill('<a ')}`,
    'of quoted bytes': `${head}Content-Transfer-Encoding: quoted-printable\r\n\r\n${fill('=41=42=\r\n')}`,
    'of complaints': `${multipart}--limit\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n${fill('Original-Rcpt-To: a@b.test\r\n')}`,
  };

  test.each(Object.entries(mails))('%s takes no longer than the limit', (_, mail) => {
    const bytes = Buffer.from(mail);
    const ms = Math.min(...[0, 1].map(() => costOf(() => smtp.read({ contentType: '', bytes }))));
    expect(isTooSlow(ms)).toBe(false);
  });

  test('of 10 MB takes no longer than the limit, and its report is read', () => {
    const report = `${multipart}${status}Final-Recipient: rfc822; jane@example.test\r\nAction: failed\r\nStatus: 5.1.1\r\n`;
    const returned = `--limit\r\nContent-Type: message/rfc822\r\n\r\nMessage-ID: <1@acme.test>\r\n\r\n`;
    const bytes = Buffer.from(`${report}${returned}${fill('--limit\r\n').repeat(10)}`);
    expect(smtp.read({ contentType: '', bytes })).toMatchObject([{ permanent: true, messageId: '<1@acme.test>' }]);
    expect(isTooSlow(costOf(() => smtp.read({ contentType: '', bytes })))).toBe(false);
  });

  test.each(Object.entries(shapes))('with %s takes no longer than the limit', { tags: ['sweep'] }, (_, shape) => {
    const bytes = Buffer.from(`${head}\r\n${shape(size)}`);
    expect(isTooSlow(costOf(() => smtp.read({ contentType: '', bytes })))).toBe(false);
  });

  test('gives at most 51 events, with bounded fields', () => {
    const events = [mails['of recipients']!, mails['of recipients in prose']!, mails['of one diagnosis']!].flatMap(
      read,
    );
    expect(events.length).toBeLessThanOrEqual(3 * 51);
    for (const event of events) expect(JSON.stringify(event).length).toBeLessThan(3_000);
  });
});

test('only the first 256 KiB of a part are decoded', () => {
  const limit = 256 * 1024;
  const [part] = parseMail(Buffer.from(`Subject: x\r\n\r\n${'a'.repeat(limit)}b`)).parts;
  expect(part!.text()).toBe('a'.repeat(limit));
});

test('a webhook body may start with a byte order mark', () => {
  expect(parseJson({ bytes: Buffer.from('\ufeff{"event": "bounce"}') })).toEqual({ event: 'bounce' });
});
