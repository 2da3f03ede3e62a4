/** `belfry feedback read`: output, errors and exit codes, without any database. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { feedback } from '../../src/cli/feedback.ts';
import { feedbackReaders } from '../../src/providers/feedback/index.ts';
import { command } from '../support/command.ts';
import { fairNow } from '../support/fair-clock.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'belfry-feedback-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (...args: string[]) =>
  command(['feedback', 'read', ...args], { DATABASE_URL: 'postgres://127.0.0.1:1/none' });

const bounce = (address: string) =>
  [
    'From: MAILER-DAEMON@mx.acme.test',
    'To: news@acme.test',
    'Subject: failure notice',
    'Date: Tue, 3 Mar 2026 10:00:00 +0000',
    '',
    `<${address}>:`,
    'Remote host said: 550 5.1.1 User unknown',
    '',
    '--- Below this line is a copy of the message.',
    '',
    'Message-ID: <1@acme.test>',
    `To: ${address}`,
    '',
  ].join('\n');

function file(name: string, content: string): string {
  const at = path.join(folder, name);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, content);
  return at;
}

test('prints one JSON line per event with exactly the documented fields, in their order', async () => {
  const mail = file('one/bounce.eml', bounce('jane@acme.test'));
  const { code, stdout, stderr } = await read('--provider', 'smtp', mail);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(
    `${JSON.stringify({
      file: mail,
      type: 'bounced',
      permanent: true,
      reason: 'unknown_user',
      recipient: 'jane@acme.test',
      message_id: '<1@acme.test>',
      at: '2026-03-03T10:00:00.000Z',
    })}\n`,
  );
});

test('reads a webhook, and prints the words of the server and our id with --details', async () => {
  const body = file(
    'postmark.json',
    JSON.stringify({
      RecordType: 'Bounce',
      Type: 'SoftBounce',
      Email: 'jane@acme.test',
      MessageID: 'm-1',
      Details: '452 mailbox full',
      Metadata: { belfry_id: 'd-1' },
    }),
  );
  const { stdout } = await read('--provider', 'postmark', '--details', body);
  expect(JSON.parse(stdout)).toEqual({
    file: body,
    type: 'bounced',
    permanent: false,
    reason: 'mailbox_full',
    recipient: 'jane@acme.test',
    message_id: 'm-1',
    at: null,
    text: '452 mailbox full',
    delivery_id: 'd-1',
  });
});

test('reads a form with the content type of the request', async () => {
  const events = JSON.stringify([{ event: 'spam', msg: { email: 'jane@acme.test', _id: 'm-1' } }]);
  const body = file(
    'mandrill.txt',
    `\r\n--x\r\nContent-Disposition: form-data; name="mandrill_events"\r\n\r\n${events}\r\n--x--\r\n`,
  );
  const { stdout } = await read('--provider', 'mandrill', '--content-type', 'multipart/form-data; boundary=x', body);
  expect(JSON.parse(stdout)).toMatchObject({ type: 'complained', recipient: 'jane@acme.test' });
});

test('reads every file of a folder and reports those that it cannot read, with exit code 1', async () => {
  file('many/a.eml', bounce('a@acme.test'));
  file('many/b.txt', 'not a mail');
  file('many/c/d.eml', bounce('d@acme.test'));
  file('many/empty.eml', '');
  file('many/.hidden', 'not a mail');
  file('many/vacation.eml', 'From: jane@acme.test\nSubject: Away\nAuto-Submitted: auto-replied\n\nI am away.\n');
  truncateSync(file('many/x.eml', ''), 10 * 1024 * 1024 + 1);
  symlinkSync(path.join(folder, 'many/a.eml'), path.join(folder, 'many/link'));
  symlinkSync(path.join(folder, 'many'), path.join(folder, 'many/circle'));
  const { code, stdout, stderr } = await read(
    '--provider',
    'smtp',
    path.join(folder, 'many'),
    path.join(folder, 'none.eml'),
    '/dev/null',
  );
  const lines = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));
  expect(lines.map(line => [path.relative(folder, line.file), line.recipient])).toEqual([
    ['many/a.eml', 'a@acme.test'],
    ['many/c/d.eml', 'd@acme.test'],
    ['many/link', 'a@acme.test'],
  ]);
  expect(
    stderr
      .trim()
      .split('\n')
      .map(line => line.replace(`${folder}/`, '')),
  ).toEqual([
    'belfry: many/b.txt is not a mail: it does not start with a header',
    'belfry: many/empty.eml is empty',
    'belfry: many/x.eml is larger than 10 MiB',
    'belfry: none.eml cannot be read: file not found',
    'belfry: /dev/null is not a file',
  ]);
  expect(code).toBe(1);
});

test('reads a thousand mails in one process, in seconds', { tags: ['sweep'] }, async () => {
  for (let i = 0; i < 1_000; i++) file(`thousand/${i}.eml`, bounce(`jane${i}@acme.test`));
  const one = fairNow();
  await read('--provider', 'smtp', path.join(folder, 'thousand/1.eml'));
  const all = fairNow();
  const { stdout } = await read('--provider', 'smtp', path.join(folder, 'thousand'));
  expect(stdout.trim().split('\n')).toHaveLength(1_000);
  // Most of the time is the start of the program.
  expect(fairNow() - all).toBeLessThan(5 * (all - one) + 20_000);
});

test.each([
  [['--provider', 'pigeon', 'x'], /--provider must be one of smtp, ses, sendgrid, /],
  [['x'], /--provider must be one of/],
  [['--provider', 'toString', 'x'], /--provider must be one of/],
  [['--provider', 'smtp'], /name at least one file or folder/],
])('%j is a usage error with exit code 2', async (args, message) => {
  const { code, stdout, stderr } = await read(...args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(message);
});

test('the help names every provider', () => {
  for (const name of Object.keys(feedbackReaders)) expect(feedback.details).toContain(name);
});
