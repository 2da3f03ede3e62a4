/** Bounce mails in a mailbox that is polled over IMAP. */
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  addMailboxes,
  mailboxLimits,
  maxReading,
  pollEvery,
  readMailboxes,
} from '../../src/services/history/feedback/mailboxes.ts';
import { checkChannels } from '../../src/services/operations/doctor/channels.ts';
import { certificate } from '../support/certificate.ts';
import { eventually } from '../support/eventually.ts';
import { type ImapPeer, imapUser, openImapPeer } from '../support/imap.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';
import { runSql } from '../support/sql.ts';

let world: EngineWorld;
let smtp: SmtpPeer;
let imap: ImapPeer;
beforeAll(async () => {
  // The service itself must not poll what a test checks.
  pollEvery.dueMs = 3_600_000;
  world = await openWorld();
  smtp = await openSmtpPeer();
});
beforeEach(async () => {
  await runSql(world.service.runtime.url, 'delete from feedback_mailboxes');
  await runSql(world.service.runtime.url, `update channels set providers = '[]' where slug = 'mail'`);
  await imap?.close();
  imap = await openImapPeer();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await Promise.all([smtp.close(), imap.close()]);
});

const withoutNull = (settings: object) =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));

const viaSmtp = (settings: object = {}) => {
  const provider = {
    use: 'smtp',
    host: '127.0.0.1',
    port: smtp.port,
    from: 'bounces@acme.test',
    starttls: 'never',
    imap_host: 'localhost',
    imap_port: imap.port,
    imap_user: imapUser.user,
    imap_password: imapUser.password,
    ca: certificate,
    ...settings,
  };
  return world.tenant({
    users: ['ada@x.test'],
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [withoutNull(provider)] }],
    notifications: [{ channels: ['mail'] }],
  });
};

/** Sends a message and returns its id, its Message-ID and its return path. */
async function send(tenant: Tenant) {
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  const { headers, from } = smtp.mails.at(-1)!;
  return { id, messageId: headers['message-id']!, returnPath: from };
}

const bounceOf = (messageId: string, to = 'bounces@acme.test') =>
  [
    'From: MAILER-DAEMON@mx.test',
    `To: ${to}`,
    'Subject: Undelivered Mail Returned to Sender',
    'Date: Tue, 17 Nov 2026 10:03:00 +0000',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Final-Recipient: rfc822; ada@x.test',
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 no such user',
    '',
    '--b',
    'Content-Type: text/rfc822-headers',
    '',
    `Message-ID: ${messageId}`,
    '',
    '--b--',
    '',
  ].join('\r\n');

const warnings: string[] = [];
const log = pino({ level: 'warn' }, { write: line => warnings.push(JSON.parse(line).msg) });

/** As another process reads them. */
const reader = (deps = world.service.runtime.deps) => readMailboxes(deps, log, () => false);

async function poll(reads = reader()): Promise<void> {
  await runSql(world.service.runtime.url, 'update feedback_mailboxes set due_at = now()');
  await addMailboxes(world.service.runtime.deps);
  await reads.runDue();
}

const mailboxOf = async (tenant: Tenant) => {
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/c/mail/` });
  return body.feedback.mailboxes[0];
};

test('a bounce in the mailbox ends as bounced and is marked as read; other mails are left as they are', async () => {
  const tenant = await viaSmtp();
  const { id, messageId } = await send(tenant);
  imap.add('From: ada@x.test\r\nSubject: Question\r\n\r\nWhere is my order?\r\n');
  imap.add(bounceOf(messageId));
  await poll();
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ada@x.test suppressed: address.suppressed']);
  expect(imap.messages.map(({ flags }) => [...flags])).toEqual([[], ['\\Seen']]);
  const name = `INBOX of ${imapUser.user} at localhost:${imap.port}`;
  expect(await mailboxOf(tenant)).toEqual({
    mailbox: name,
    checked_at: expect.any(String),
    failed_at: null,
    error: null,
  });
});

test('each mail is read once, and again from the start if the server renumbers its messages', {
  tags: ['sweep'],
}, async () => {
  const tenant = await viaSmtp();
  const { id, messageId } = await send(tenant);
  imap.add('From: ada@x.test\r\nSubject: Question\r\n\r\nWhere is my order?\r\n');
  await poll();
  const countFetched = () => imap.commands.filter(command => command.startsWith('UID FETCH')).length;
  expect(countFetched()).toBe(1);
  imap.add(bounceOf(messageId));
  await poll();
  await poll();
  expect(countFetched()).toBe(2);
  imap.uidValidity++;
  await poll();
  expect(countFetched()).toBe(4);
  const { body } = await tenant.ask({ path: `/api/o/${tenant.slug}/feedback/` });
  expect(body.map((event: { occurrence: string }) => event.occurrence)).toEqual([id]);
});

test('a signed return path names the delivery, but only one of the organization that owns the mailbox', async () => {
  const tenant = await viaSmtp({ bounce_domain: 'bounces.acme.test' });
  const { id, returnPath } = await send(tenant);
  const noMailbox = { imap_host: null, imap_port: null, imap_user: null, imap_password: null };
  const other = await viaSmtp({ bounce_domain: 'bounces.acme.test', ...noMailbox });
  const theirs = await send(other);
  imap.add(bounceOf('<unknown@x.test>', returnPath));
  imap.add(bounceOf('<unknown@x.test>', theirs.returnPath));
  await poll();
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  expect(await other.outcomes(theirs.id)).toEqual(['ada@x.test sent']);
});

test('mails are read by the threads for mails, in the name of the organization', async () => {
  const tenant = await viaSmtp();
  const { id, messageId } = await send(tenant);
  imap.add(bounceOf(messageId));
  imap.add('not a mail');
  const read: [number, string][] = [];
  const { deps } = world.service.runtime;
  const mailReader = {
    read(organizationId: number, bytes: Buffer) {
      read.push([organizationId, bytes.toString().slice(0, 5)]);
      return deps.mailReader.read(organizationId, bytes);
    },
  };
  await poll(reader({ ...deps, mailReader }));
  expect(read).toEqual([
    [tenant.id, 'From:'],
    [tenant.id, 'not a'],
  ]);
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
});

test('a long mailbox is read in several turns', { tags: ['sweep'] }, async () => {
  await viaSmtp();
  for (let i = 0; i < mailboxLimits.messages + 1; i++) imap.add(`Subject: ${i}\r\n\r\nHello.\r\n`);
  await poll();
  expect(imap.sessions).toBe(2);
  expect(imap.commands.filter(command => command.startsWith('UID FETCH'))).toHaveLength(mailboxLimits.messages + 1);
});

test('several processes poll a mailbox once', async () => {
  await viaSmtp();
  await addMailboxes(world.service.runtime.deps);
  await Promise.all([1, 2, 3].map(() => reader().runDue()));
  expect(imap.sessions).toBe(1);
});

test('a mailbox is due again a minute after it was claimed, however long reading it took', async () => {
  const tenant = await viaSmtp();
  await poll();
  const [row] = await runSql<{ seconds: number }>(
    world.service.runtime.url,
    'select extract(epoch from due_at - now())::float8 as seconds from feedback_mailboxes where organization_id = $1',
    [tenant.id],
  );
  expect(row!.seconds).toBeGreaterThan(1);
  expect(row!.seconds).toBeLessThan(60);
});

test.each([
  ['a wrong password', { imap_password: 'wrong' }, /refused the user name or password: .*invalid credentials/],
  ['an unknown folder', { imap_folder: 'Bounces' }, /no such mailbox/],
  ['an untrusted certificate', { ca: null }, /certificate/],
  ['a private address', { imap_host: '10.1.2.3' }, /10\.1\.2\.3 is a private or reserved address/],
])('%s is shown on the channel, in the doctor, and logged once', async (_, settings, reason) => {
  const tenant = await viaSmtp(settings);
  warnings.length = 0;
  await poll();
  await poll();
  const { error, failed_at, checked_at } = await mailboxOf(tenant);
  expect(error).toMatch(reason);
  expect([typeof failed_at, checked_at]).toEqual(['string', null]);
  expect(warnings).toEqual([expect.stringMatching(/^a mailbox for bounce mails cannot be read: /)]);
  const checks = await checkChannels(world.service.runtime.deps);
  expect(checks.map(({ detail }) => detail)).toContainEqual(
    expect.stringMatching(new RegExp(`^${tenant.slug}/mail cannot read .*${reason.source}`)),
  );
});

test('a message larger than was asked for ends the connection before it is received', async () => {
  const tenant = await viaSmtp();
  imap.add('Subject: Hello\r\n\r\nHello.\r\n');
  imap.announcedBytes = mailboxLimits.bytes + 1;
  await poll();
  expect(await mailboxOf(tenant)).toMatchObject({ error: expect.stringMatching(/literal/i) });
});

test('a mailbox that was removed from the settings is not polled any more', async () => {
  await viaSmtp();
  await poll();
  await runSql(world.service.runtime.url, `update channels set providers = '[]' where slug = 'mail'`);
  await poll();
  expect(imap.sessions).toBe(1);
  expect(await runSql(world.service.runtime.url, 'select from feedback_mailboxes')).toEqual([]);
});

test('a server that does not answer does not keep the service from stopping, and is no error', async () => {
  const tenant = await viaSmtp();
  imap.silentOn = 'SELECT';
  const reads = reader();
  const polled = poll(reads);
  await eventually(() => expect(imap.commands).toContainEqual(expect.stringMatching(/^SELECT/)));
  await Promise.all([reads.stop(), polled]);
  expect(await mailboxOf(tenant)).toMatchObject({ error: null });
});

test('slow servers of one organization delay neither mailboxes of others nor new ones', async () => {
  const silent = await openImapPeer();
  silent.silentOn = 'SELECT';
  const provider = {
    use: 'smtp',
    host: '127.0.0.1',
    from: 'bounces@acme.test',
    imap_host: 'localhost',
    imap_port: silent.port,
    imap_user: imapUser.user,
    imap_password: imapUser.password,
    ca: certificate,
  };
  const channels = Array.from({ length: 25 }, (_, i) => ({
    slug: `mail${i}`,
    name: 'Mail',
    type: 'email',
    providers: [{ ...provider, imap_folder: `F${i}` }],
  }));
  await world.tenant({ users: ['ada@x.test'], channels, notifications: [{ channels: ['mail0'] }] });
  const { url } = world.service.runtime;
  const [one, another] = [reader(), reader()];
  const polled = poll(one);
  const countSlow = () => silent.commands.filter(command => command.startsWith('SELECT')).length;
  await eventually(() => expect(countSlow()).toBe(maxReading.group));
  const tenant = await viaSmtp();
  await runSql(
    url,
    `insert into feedback_mailboxes (organization_id, channel_id, mailbox)
     select organization_id, id, $2 from channels where organization_id = $1`,
    [tenant.id, `INBOX of ${imapUser.user} at localhost:${imap.port}`],
  );
  // Another process has just as many slots, and none of them is blocked by the first round.
  another.start();
  await eventually(async () => expect((await mailboxOf(tenant)).checked_at).not.toBeNull());
  expect(countSlow()).toBeLessThanOrEqual(2 * maxReading.group);
  await Promise.all([one.stop(), another.stop(), polled]);
  await silent.close();
  await runSql(url, `update channels set providers = '[]' where slug like 'mail%'`);
});
