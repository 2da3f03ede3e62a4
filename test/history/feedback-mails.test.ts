/** Bounce mails to signed return paths, at the listener of a running service. */
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readReturnPath, returnPathOf } from '../../src/core/feedback/return-path.ts';
import { uuidv7 } from '../../src/core/ids.ts';
import { createSigner } from '../../src/lib/signer.ts';
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

const deliver = (to: string, raw: string) =>
  createTransport({ host: '127.0.0.1', port: world.service.mailPort!, secure: false, ignoreTLS: true }).sendMail({
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

test('a vacation reply is accepted and ignored, and a mail that is too large is refused', async () => {
  const tenant = await viaSmtp();
  const { id, returnPath } = await send(tenant);
  const reply = 'From: ada@x.test\r\nSubject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.\r\n';
  await deliver(returnPath, reply);
  await expect(deliver(returnPath, reply + 'x'.repeat(6_000_000))).rejects.toMatchObject({ responseCode: 552 });
  expect(await tenant.outcomes(id)).toEqual(['ada@x.test sent']);
});

test('a client that says nothing does not keep the service from stopping', async () => {
  const other = await openWorld({ BELFRY_SMTP_IN: '127.0.0.1:0' });
  const socket = connect(other.service.mailPort!, '127.0.0.1');
  await new Promise(resolve => socket.once('data', resolve));
  socket.on('error', () => {});
  await other.close();
  socket.destroy();
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
