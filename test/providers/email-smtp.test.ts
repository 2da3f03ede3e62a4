import { promises as dns } from 'node:dns';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { smtp } from '../../src/providers/email/smtp/smtp.ts';
import type { Outcome } from '../../src/providers/sending.ts';
import { certificate } from '../support/certificate.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import type { Mail, SmtpFault } from '../support/smtp.ts';
import { open } from '../support/smtp-open.ts';

afterEach(() => vi.restoreAllMocks());

const reasonOf = (outcome: Outcome) => (outcome.ok ? '' : outcome.reason);

describe('a mail', () => {
  it('arrives with all its parts, with an id that stays the same', async () => {
    const { peer, sender } = await open({ reply_to: 'Help <help@acme.test>' });
    const id = '<01890a5d-ac96-774b-bcce-b302099a8057@acme.test>';
    expect(await sender.send(exampleOutgoing())).toEqual({ ok: true, id });
    expect(await sender.send(exampleOutgoing())).toEqual({ ok: true, id });
    const [mail, again] = peer.mails as [Mail, Mail];
    expect(mail).toMatchObject({ from: 'no-reply@acme.test', to: ['jane@acme.test'], secure: false });
    expect(mail.headers).toMatchObject({
      from: 'Acme <no-reply@acme.test>',
      to: 'jane@acme.test',
      'reply-to': 'Help <help@acme.test>',
      subject: 'Order 7 is paid',
      'message-id': id,
      date: 'Wed, 02 Jan 2030 03:04:05 +0000',
    });
    expect(mail.headers['content-type']).toMatch(/^multipart\/alternative/);
    expect(mail.raw).toContain('\r\nHello Jane\r\n');
    expect(mail.raw).toContain('<p>Hello <b>Jane</b></p>');
    expect(again.headers['message-id']).toBe(id);
  });

  it('has no unexpected header', async () => {
    const { peer, sender } = await open({ headers: { 'List-Unsubscribe': '<https://acme.test/out>' } });
    await sender.send(exampleOutgoing({ content: { title: 'Grüße', text: 'Glöckchen', missing: [] } }));
    const { headers } = peer.mails[0]!;
    expect(headers['list-unsubscribe']).toBe('<https://acme.test/out>');
    expect(Object.keys(headers).sort()).toEqual(
      [
        'auto-submitted',
        'content-transfer-encoding',
        'content-type',
        'date',
        'from',
        'list-unsubscribe',
        'message-id',
        'mime-version',
      ]
        .concat(['subject', 'to'])
        .sort(),
    );
    expect(headers.subject).toBe('=?UTF-8?Q?Gr=C3=BC=C3=9Fe?=');
  });

  it('goes to one recipient, whatever the address looks like', async () => {
    const { peer, sender } = await open();
    await sender.send(exampleOutgoing({ address: 'jane@acme.test, eve@evil.test' }));
    await sender.send(exampleOutgoing({ address: 'jane@acme.test>\r\nRCPT TO:<eve@evil.test' }));
    expect(peer.mails.flatMap(({ to }) => to)).not.toContain('eve@evil.test');
  });

  it('reads no file and no URL, whatever its content looks like', async () => {
    const { peer, sender } = await open();
    const html = '<img src="file:///etc/passwd"><img src="http://127.0.0.1:1/x">';
    await sender.send(exampleOutgoing({ content: { title: 'T', text: 'x', html, missing: [] } }));
    expect(peer.mails[0]!.raw).not.toContain('root:');
  });
});

describe('TLS', () => {
  it('is established by STARTTLS when required, with the host name on the certificate', async () => {
    const { peer, sender } = await open({ starttls: 'require', ca: certificate });
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(peer.mails[0]!.secure).toBe(true);
  });

  it('is used when offered and preferred, and skipped when not offered', async () => {
    const offered = await open({ starttls: 'prefer', ca: certificate });
    await offered.sender.send(exampleOutgoing());
    expect(offered.peer.mails[0]!.secure).toBe(true);
    const bare = await open({ starttls: 'prefer', ca: certificate }, { starttls: false });
    await bare.sender.send(exampleOutgoing());
    expect(bare.peer.mails[0]!.secure).toBe(false);
  });

  it('can be implicit', async () => {
    const { peer, sender } = await open({ secure: true, starttls: undefined, ca: certificate }, { secure: true });
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(peer.mails[0]!.secure).toBe(true);
  });

  it('is never skipped when required', async () => {
    const { peer, sender } = await open({ starttls: 'require', ca: certificate }, { starttls: false });
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false });
    expect(peer.mails).toEqual([]);
  });

  it.each([
    ['that is not trusted, by STARTTLS', {}, false],
    ['that is not trusted, by implicit TLS', { secure: true }, true],
    ['for another name', { host: '127.0.0.1', ca: certificate }, false],
  ])('refuses a certificate %s', async (_, settings, secure) => {
    vi.spyOn(dns, 'lookup').mockImplementation((async () => [{ address: '127.0.0.1', family: 4 }]) as never);
    const { peer, sender } = await open({ starttls: 'prefer', ...settings }, { secure });
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect(outcome).not.toHaveProperty('unknown');
    expect(peer.mails).toEqual([]);
  });
});

describe('signing in', () => {
  const auth = { user: 'acme', password: 'hush-hush' };

  it('happens after TLS unless configured otherwise', async () => {
    const settings = { ...auth, starttls: undefined, ca: certificate };
    const { peer, sender } = await open(settings, { auth });
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
    expect(peer.mails[0]).toMatchObject({ secure: true, user: 'acme' });
    const bare = await open(settings, { auth, starttls: false });
    expect(await bare.sender.send(exampleOutgoing())).toMatchObject({ ok: false });
    expect(bare.peer.mails).toEqual([]);
  });

  it('with a wrong password fails permanently without revealing the password', async () => {
    const { sender } = await open({ user: 'acme', password: 'wrong-hush' }, { auth });
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: false, denied: true });
    expect(reasonOf(outcome)).toMatch(/^535 5\.7\.8 acme •••/);
  });

  it('is retried after a temporary error', async () => {
    const { peer, sender } = await open({ ...auth }, { auth });
    peer.fault = { auth: '454 4.7.0 later' };
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true });
  });
});

describe('a failure', () => {
  const full = { retry: true, ofRecipient: true, mailboxFull: true } as const;
  const replies: [string, SmtpFault, Partial<Outcome>][] = [
    ['a busy server', { connect: '421 4.3.2 too busy' }, { retry: true }],
    ['a server that refuses connections', { connect: '554 5.7.1 go away' }, { retry: false }],
    ['a sender refused for now', { mail: '451 4.7.1 greylisted' }, { retry: true }],
    ['a sender refused', { mail: '550 5.7.1 not allowed' }, { retry: false }],
    ['a mailbox that is full', { rcpt: '452 4.2.2 mailbox full' }, full],
    ['a full mailbox that is called permanent', { rcpt: '552 5.2.2 no more' }, full],
    ['a full mailbox without a status code', { rcpt: '552 Quota exceeded for user jane' }, full],
    ['a full mailbox after the mail was sent', { data: '554 5.2.2 mailbox full' }, full],
    ['a server without space', { rcpt: '452 4.3.1 Insufficient system storage' }, { retry: true, ofRecipient: true }],
    ['a sender who sent too much', { data: '550 5.4.5 Daily sending quota exceeded' }, { retry: false }],
    ['a recipient that is greylisted', { rcpt: '450 try again in 300 s' }, { retry: true, ofRecipient: true }],
    ['a mailbox that does not exist', { rcpt: '550 5.1.1 no such user' }, { retry: false, gone: true }],
    ['a mailbox that has moved', { rcpt: '551 5.1.6 moved' }, { retry: false, gone: true }],
    ['a recipient refused by policy', { rcpt: '550 5.7.1 blocked' }, { retry: false }],
    ['a recipient refused without a reason', { rcpt: '550 no' }, { retry: false }],
    ['a mail refused for now', { data: '451 4.3.0 try later' }, { retry: true }],
    ['a mail that is greylisted', { data: '451 4.7.1 greylisted' }, { retry: true, ofRecipient: true }],
    ['a mail taken for spam', { data: '554 5.7.1 spam' }, { retry: false }],
    ['a mail refused with the code of a missing mailbox', { data: '550 5.1.1 hm' }, { retry: false }],
  ];
  it.each(replies)('of %s is classified by the reply, which is reported', async (_, fault, expected) => {
    const { peer, sender } = await open();
    peer.fault = fault;
    const outcome = await sender.send(exampleOutgoing());
    const reply = Object.values(fault)[0] as string;
    expect(outcome).toEqual({ ok: false, ...expected, reason: expect.stringContaining(reply) });
    expect(peer.mails).toEqual([]);
  });

  const lost: [SmtpFault, boolean][] = [
    ['reset', false],
    ['hang', false],
    ['drop in data', false],
    ['drop after data', true],
    ['hang after data', true],
  ];
  it.each(lost)('by "%s" may be retried; may have been accepted: %s', async (fault, unknown) => {
    const { peer, sender } = await open({ timeout_ms: `${fault}`.startsWith('hang') ? 1_000 : 20_000 });
    peer.fault = fault;
    // Larger than all buffers in between, so that the end cannot have been sent.
    const text = 'a line of text\n'.repeat(fault === 'drop in data' ? 400_000 : 1);
    const outcome = await sender.send(exampleOutgoing({ content: { title: 'T', text, missing: [] } }));
    expect(outcome).toMatchObject({ ok: false, retry: true });
    expect('unknown' in outcome).toBe(unknown);
    // Nothing was sent twice.
    expect(peer.mails).toHaveLength(unknown ? 1 : 0);
  });

  it('to connect means that the mail was not sent', async () => {
    const { peer, sender } = await open();
    await peer.close();
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: true, reason: expect.stringContaining('ECONNREFUSED') });
    expect(outcome).not.toHaveProperty('unknown');
  });

  it.each(['localhost', '127.0.0.1', '2130706433'])(
    'to connect to the forbidden address %s is permanent',
    async host => {
      const { peer, sender } = await open({ host }, {}, []);
      expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: false });
      expect(peer.connections).toBe(0);
    },
  );

  it('does not affect the next mail', async () => {
    const { peer, sender } = await open();
    for (const fault of [...lost.map(([name]) => name).filter(name => !/hang/.test(`${name}`)), { rcpt: '550 no' }]) {
      peer.fault = fault as SmtpFault;
      await sender.send(exampleOutgoing());
      peer.fault = undefined;
      expect(await sender.send(exampleOutgoing()), `${fault}`).toMatchObject({ ok: true });
    }
  });
});

describe('settings', () => {
  const valid = { host: 'mail.acme.test', from: 'a@acme.test' };
  it.each([
    ['a reserved header', { headers: { 'mEssage-id': 'x' } }],
    ['a header of two lines', { headers: { 'X-A': 'b\r\nBcc: eve@evil.test' } }],
    ['an invalid header name', { headers: { 'X A': 'b' } }],
    ['an invalid certificate', { ca: 'trust me' }],
    ['no connections', { max_connections: 0 }],
  ])('refuse %s', (_, wrong) => {
    expect(shapeErrors(smtp.settings, valid)).toEqual([]);
    expect(shapeErrors(smtp.settings, { ...valid, ...wrong })).not.toEqual([]);
  });
});
