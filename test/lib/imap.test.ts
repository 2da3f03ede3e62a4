/** The IMAP client, against a real server. What is done with the mails is tested in test/history/feedback-mailboxes.test.ts. */
import { afterEach, expect, test } from 'vitest';
import { readNewMessages } from '../../src/lib/network/imap.ts';
import { certificate } from '../support/certificate.ts';
import { type ImapPeer, imapUser, openImapPeer } from '../support/imap.ts';

let imap: ImapPeer;
afterEach(() => imap.close());

async function read(limits: { ms?: number } = {}, secure = false): Promise<string[]> {
  const found: string[] = [];
  const server = { ...imapUser, host: 'localhost', address: '127.0.0.1', port: imap.port, secure, ca: certificate };
  const bounds = { messages: 10, bytes: 10_000, ms: 60_000, signal: new AbortController().signal, ...limits };
  const keep = async (bytes: Buffer) => found.push(bytes.toString()) > 0;
  await readNewMessages(server, 'INBOX', { validity: null, uid: 0 }, bounds, keep, () => {});
  return found;
}

test('STARTTLS comes before the credentials', { tags: ['sweep'] }, async () => {
  imap = await openImapPeer('starttls');
  imap.add('Subject: Hello\r\n\r\nHello.\r\n');
  expect(await read()).toEqual(['Subject: Hello\r\n\r\nHello.\r\n']);
  expect(imap.commands.indexOf('STARTTLS')).toBeGreaterThanOrEqual(0);
  expect(imap.commands.indexOf('STARTTLS')).toBeLessThan(imap.commands.indexOf('AUTHENTICATE'));
});

test('a server without STARTTLS never receives the credentials', async () => {
  imap = await openImapPeer('none');
  await expect(read()).rejects.toThrow(/STARTTLS/i);
  expect(imap.commands).not.toContain('AUTHENTICATE');
});

test('reading ends after the time it may take, whatever the server does', async () => {
  imap = await openImapPeer();
  imap.silentOn = 'SELECT';
  await expect(read({ ms: 300 }, true)).rejects.toThrow('it took longer than 0.3 s');
});
