/** Bounce mails to signed return paths, at the listener of a running service. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readReturnPath, returnPathOf } from '../../src/core/feedback/return-path.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { createSelfSigned } from '../../src/lib/network/self-signed.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { mailLimits } from '../../src/providers/feedback/mail-limits.ts';
import { certificate, certificateKey } from '../support/certificate.ts';
import { testService } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { hostileMail } from '../support/hostile-mail.ts';
import { type EngineWorld, openWorld, type Tenant } from '../support/sink.ts';
import { openSmtpPeer, type SmtpPeer } from '../support/smtp.ts';

let world: EngineWorld;
let peer: SmtpPeer;
beforeAll(async () => {
  world = await openWorld({ BELFRY_SMTP_IN: '127.0.0.1:0' });
  peer = await openSmtpPeer();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
  await peer.close();
});

const bounceOf = (recipient: string) =>
  [
    'From: MAILER-DAEMON@mx.test',
    'Subject: Undelivered Mail Returned to Sender',
    'Date: Tue, 17 Nov 2026 10:03:00 +0000',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    '',
    '--b',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.test',
    '',
    `Final-Recipient: rfc822; ${recipient}`,
    'Action: failed',
    'Status: 5.1.1',
    'Diagnostic-Code: smtp; 550 5.1.1 no such user',
    '',
    '--b--',
    '',
  ].join('\r\n');

const deliver = (
  to: string | string[],
  raw: string | Buffer,
  tls: object = { ignoreTLS: true },
  { mailPort } = world.service,
) =>
  createTransport({ host: 'localhost', port: mailPort!, secure: false, ...tls }).sendMail({
    envelope: { from: '', to },
    raw,
  });

async function send(tenant: Tenant): Promise<{ id: string; returnPath: string }> {
  const id = await tenant.trigger();
  await tenant.until(id, 'sent');
  return { id, returnPath: peer.mails.at(-1)!.from };
}

const viaSmtp = () => {
  const smtp = {
    use: 'smtp',
    host: '127.0.0.1',
    port: peer.port,
    from: 'a@acme.test',
    starttls: 'never',
    bounce_domain: 'bounces.acme.test',
  };
  return world.tenant({
    users: ['ada@x.test'],
    channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [smtp] }],
    notifications: [{ channels: ['mail'] }],
  });
};

test('a bounce to the return path of a message ends as bounced, and the address is suppressed', async () => {
  const tenant = await viaSmtp();
  const { id, returnPath } = await send(tenant);
  expect(returnPath).toMatch(/^b-[0-9a-z-]{1,62}@bounces\.acme\.test$/);
  expect(returnPath.indexOf('@')).toBeLessThanOrEqual(64);
  await deliver(returnPath.toUpperCase(), bounceOf('ada@x.test'));
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
  expect(await tenant.outcomes(await tenant.trigger())).toEqual(['ada@x.test suppressed: address.suppressed']);
  const why = await tenant.ask({ path: `/api/o/${tenant.slug}/occurrence/${id}/why/?user=ada@x.test` });
  expect(why.body.answers[0].explanation).toMatch(/According to smtp, it bounced permanently at 2026-11-17T10:03/);
});

test('other recipients are refused, so that nothing is ever relayed', async () => {
  const tenant = await viaSmtp();
  const { id, returnPath } = await send(tenant);
  const [local = '', domain = ''] = returnPath.split('@');
  const forged = `${local.slice(0, -1)}${local.endsWith('0') ? '1' : '0'}@${domain}`;
  for (const address of ['ada@example.com', forged, `b-1-2-3@${domain}`]) {
    await expect(deliver(address, bounceOf('ada@x.test'))).rejects.toMatchObject({ responseCode: 550 });
  }
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
});

test('a vacation reply is accepted and ignored, and a mail that is far too large is refused', {
  tags: ['sweep'],
}, async () => {
  const tenant = await viaSmtp();
  const { id, returnPath } = await send(tenant);
  const reply = 'From: ada@x.test\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.\r\n';
  await deliver(returnPath, reply);
  const large = reply + `${'x'.repeat(900)}\r\n`.repeat(mailLimits.maxBytes / 900);
  await expect(deliver(returnPath, large)).rejects.toMatchObject({ responseCode: 552 });
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
});

test('a report that returns a large message is read from its start', async () => {
  const tenant = await viaSmtp();
  const { id, returnPath } = await send(tenant);
  await deliver(returnPath, bounceOf('ada@x.test') + `${'x'.repeat(900)}\r\n`.repeat(6_000));
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test failed: bounced']);
});

test('a mail to several return paths is about each of their messages', async () => {
  const [one, other] = [await viaSmtp(), await viaSmtp()];
  const [first, second] = [await send(one), await send(other)];
  await deliver([first.returnPath, second.returnPath], bounceOf('ada@x.test'));
  expect(await one.outcomes(first.id)).toEqual(['ada@x.test failed: bounced']);
  expect(await other.outcomes(second.id)).toEqual(['ada@x.test failed: bounced']);
});

test('mails are encrypted with STARTTLS, with a generated certificate unless the settings have one', {
  tags: ['sweep'],
}, async () => {
  const { returnPath } = await send(await viaSmtp());
  const any = { requireTLS: true, tls: { rejectUnauthorized: false } };
  expect(await deliver(returnPath, bounceOf('ada@x.test'), any)).toMatchObject({
    response: expect.stringMatching(/^250/),
  });
  const strict = { requireTLS: true, tls: { rejectUnauthorized: true } };
  await expect(deliver(returnPath, bounceOf('ada@x.test'), strict)).rejects.toThrow(/self-signed/);

  const own = { BELFRY_SMTP_IN_CERT: certificate, BELFRY_SMTP_IN_KEY: certificateKey };
  const other = await testService({ BELFRY_ROLE: 'api', BELFRY_SMTP_IN: '127.0.0.1:0', ...own });
  const trusting = { requireTLS: true, tls: { ca: certificate, rejectUnauthorized: true } };
  // Refused after the handshake.
  await expect(deliver('ada@x.test', 'Subject: x', trusting, other)).rejects.toMatchObject({ responseCode: 550 });
  await other.stop();
});

test('a generated certificate is valid, and belongs to its key', () => {
  const { cert, key } = createSelfSigned('mail.acme.test', Date.now());
  const read = new X509Certificate(cert);
  expect(read.checkHost('mail.acme.test')).toBe('mail.acme.test');
  expect(read.verify(read.publicKey)).toBe(true);
  expect(Date.parse(read.validFrom)).toBeLessThan(Date.now());
  expect(Date.parse(read.validTo)).toBeGreaterThan(Date.now() + 3_000 * 86_400_000);
  createSecureContext({ cert, key });
});

test('one return path gets a limited number of mails, and others are not affected', async () => {
  const { returnPath } = await send(await viaSmtp());
  const other = await send(await viaSmtp());
  const reply = 'From: ada@x.test\r\nSubject: Out of office\r\n\r\nI am away.\r\n';
  // The listener greets each connection after a pause.
  await Promise.all(Array.from({ length: mailLimits.perAddress.mails / 2 }, () => deliver(returnPath, reply)));
  await Promise.all(Array.from({ length: mailLimits.perAddress.mails / 2 }, () => deliver(returnPath, reply)));
  await expect(deliver(returnPath, reply)).rejects.toMatchObject({ responseCode: 450 });
  await deliver(other.returnPath, reply);
});

test('one client gets a part of the connections', async () => {
  const { mailPort: port } = world.service;
  const sockets: Socket[] = [];
  const greet = async () => {
    const socket = connect(port!, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    const [greeting] = await once(socket, 'data');
    return String(greeting).slice(0, 3);
  };
  const greeted = await Promise.all(Array.from({ length: mailLimits.connectionsPerClient }, greet));
  expect(new Set(greeted)).toEqual(new Set(['220']));
  expect(await greet()).toBe('421');
  for (const socket of sockets) socket.destroy();
  const { returnPath } = await send(await viaSmtp());
  await eventually(() => deliver(returnPath, bounceOf('ada@x.test')));
});

/** Returns the median time of a trigger in milliseconds. */
async function medianOf(tenant: Tenant, count: number): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await tenant.trigger();
    times.push(performance.now() - began);
    await sleep(5);
  }
  return times.sort((a, b) => a - b)[Math.floor(count / 2)]!;
}

test('four connections with the most expensive mails do not delay triggers', { tags: ['sweep'] }, async () => {
  const [mailed, tenant] = [await viaSmtp(), await world.tenant({ users: ['eve@x.test'] })];
  const paths: string[] = [];
  for (let i = 0; i < 8; i++) paths.push((await send(mailed)).returnPath);
  const quiet = await medianOf(tenant, 50);
  const raw = Buffer.from(hostileMail);
  let isOver = false;
  let sent = 0;
  const hostile = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      sent++;
      await deliver(paths, raw).catch(() => sleep(20));
    }
  });
  await eventually(() => expect(sent).toBeGreaterThan(hostile.length));
  const busy = await medianOf(tenant, 50);
  isOver = true;
  await Promise.all(hostile);
  expect(busy).toBeLessThan(Math.max(100, 10 * quiet));
});

test('a client that says nothing does not keep the service from stopping', { tags: ['sweep'] }, async () => {
  const other = await testService({ BELFRY_ROLE: 'api', BELFRY_SMTP_IN: '127.0.0.1:0' });
  const socket = connect(other.mailPort!, '127.0.0.1');
  await new Promise(resolve => socket.once('data', resolve));
  socket.on('error', () => {});
  let hasStopped = false;
  const stopping = other.stop().then(() => {
    hasStopped = true;
  });
  await eventually(() => expect([hasStopped, socket.readableEnded]).toEqual([true, true]), 15_000);
  await stopping;
});

test('a return path fits into 64 characters for the largest ids, and survives a change of case', () => {
  const signer = createSigner('a secret of at least 32 characters');
  const path = { organizationId: 60_000_000, occurrence: uuidv7(2 ** 48 - 1), id: 2_000_000_000_000 };
  const local = returnPathOf(path, signer.signShort);
  expect(local.length).toBeLessThanOrEqual(64);
  expect(readReturnPath(`${local.toUpperCase()}@x.test`, signer.isSignedShort)).toEqual(path);
  expect(
    readReturnPath(`${local}@x.test`, createSigner('another secret of 32 characters!').isSignedShort),
  ).toBeUndefined();
});
