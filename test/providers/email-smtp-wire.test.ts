/** The commands to a mail server, their order, and the handling of its replies. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { withHandoverCheck } from '../../src/lib/network/handover.ts';
import type { Outcome } from '../../src/providers/sending.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { eventually } from '../support/eventually.ts';
import { passTime } from '../support/pass-time.ts';
import { openScripted } from '../support/smtp-open.ts';
import { type Answer, hangUp, type SmtpScript, silence, trickle } from '../support/smtp-script.ts';

const pipelining = { offers: ['PIPELINING'] };
const single = { max_connections: 1 };
const to = (name: string, text = `for ${name}`) =>
  exampleOutgoing({ id: name, address: `${name}@acme.test`, content: { title: 'T', text, missing: [] } });
const recipients = ({ mails }: SmtpScript) => mails.map(mail => mail.to.replace('@acme.test', ''));
const isAbout = (name: string, line: string) => line === `RCPT TO:<${name}@acme.test>`;
const hasCome = ({ commands }: SmtpScript, name: string) => commands.flat().some(line => isAbout(name, line));
/** Without the commands before the first mail. */
const saidOn = ({ commands }: SmtpScript, connection: number) =>
  commands[connection - 1]!.filter(line => !line.startsWith('EHLO')).map(line => line.split(':')[0]);
const sent: Partial<Outcome> = { ok: true };
const mail = ['MAIL FROM', 'RCPT TO', 'DATA', '.'];

describe('the commands of a mail', () => {
  it('are sent right after the previous mail if the server announces PIPELINING', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    server.decide = async ({ verb, to }) => {
      if (verb === '.' && to.startsWith('first')) await server.until(() => hasCome(server, 'second'));
      return undefined;
    };
    const outcomes = await Promise.all([sender.send(to('first')), sender.send(to('second'))]);
    expect(outcomes).toMatchObject([sent, sent]);
    expect(recipients(server)).toEqual(['first', 'second']);
    expect(server.connections).toBe(1);
    // Only the body of a mail waits for a reply.
    expect(server.early.map(line => line.split(':')[0])).toEqual(['RCPT TO', 'DATA', 'MAIL FROM', 'RCPT TO', 'DATA']);
  });

  it('wait for each reply if it does not', async () => {
    const { server, sender } = await openScripted(single);
    // Enough time for a command that does not wait.
    server.decide = async () => void (await sleep(5));
    const names = ['first', 'second', 'third'];
    const outcomes = await Promise.all(names.map(name => sender.send(to(name))));
    expect(outcomes).toMatchObject([sent, sent, sent]);
    expect(server.early).toEqual([]);
    expect(saidOn(server, 1)).toEqual([...mail, ...mail, ...mail]);
  });

  it('do not queue behind a mail while a connection can be opened or is idle', async () => {
    const { server, sender } = await openScripted({ max_connections: 2 }, pipelining);
    let release = () => {};
    const released = new Promise<void>(resolve => {
      release = resolve;
    });
    server.decide = async ({ verb, to }) => {
      if (verb === '.' && to.startsWith('first')) await released;
      return undefined;
    };
    const first = sender.send(to('first'));
    await server.until(() => server.mails.length === 1);
    expect(await sender.send(to('second'))).toMatchObject(sent);
    expect(await sender.send(to('third'))).toMatchObject(sent);
    release();
    expect(await first).toMatchObject(sent);
    expect(server.mails.map(({ connection }) => connection)).toEqual([1, 2, 2]);
  });

  it('request SMTPUTF8 if an address is not ASCII and the server supports it', async () => {
    const able = await openScripted(single, { offers: ['SMTPUTF8', '8BITMIME'] });
    expect(await able.sender.send(to('jörg'))).toMatchObject(sent);
    expect(await able.sender.send(to('jane'))).toMatchObject(sent);
    const senders = able.server.commands[0]!.filter(line => line.startsWith('MAIL'));
    expect(senders).toEqual([
      'MAIL FROM:<no-reply@acme.test> BODY=8BITMIME SMTPUTF8',
      'MAIL FROM:<no-reply@acme.test>',
    ]);
    expect(recipients(able.server)).toEqual(['jörg', 'jane']);
  });

  it('are not sent if an address is not ASCII and the server does not support that', async () => {
    const { server, sender } = await openScripted(single, { offers: ['8BITMIME'] });
    const reason = 'the mail server cannot send to or from <jörg@acme.test>: it does not offer SMTPUTF8';
    const outcome = await sender.send(to('jörg'));
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining(reason) });
    expect(outcome).not.toHaveProperty('gone');
    expect(await sender.send(to('jane'))).toMatchObject(sent);
    // A domain alone is converted.
    expect(await sender.send(exampleOutgoing({ address: 'jane@bücher.test' }))).toMatchObject(sent);
    expect(saidOn(server, 1)).toEqual([...mail, ...mail]);
  });

  it.each([
    ['its own name', { ehlo_name: 'out.acme.test' }, 'out.acme.test'],
    ['the host of the public address', {}, 'belfry.acme.test'],
    ['the domain of the sender', { from: 'Bücher <a@bücher.test>' }, 'xn--bcher-kva.test'],
  ])('begin with EHLO and %s, never with an address', async (title, settings, name) => {
    const hostName = title.includes('sender') ? undefined : 'belfry.acme.test';
    const { server, sender } = await openScripted(settings, {}, { hostName });
    expect(await sender.send(to('jane'))).toMatchObject(sent);
    expect(server.commands[0]![0]).toBe(`EHLO ${name}`);
  });
});

describe('a mail that is pipelined behind another', () => {
  /** Sends both at once on an existing connection, so that the second is pipelined behind the first. */
  async function sendBoth(answer: Answer, timeout_ms = 20_000) {
    const { server, sender } = await openScripted({ ...single, timeout_ms }, pipelining);
    server.decide = async ({ verb, to, connection }) => {
      if (verb !== '.' || !to.startsWith('first') || connection > 1) return undefined;
      await server.until(() => hasCome(server, 'second'));
      return answer;
    };
    expect(await sender.send(to('zeroth'))).toMatchObject(sent);
    const [first, second] = await Promise.all([sender.send(to('first')), sender.send(to('second'))]);
    return { server, first, second };
  }

  it.each([
    ['gets no reply', silence],
    ['gets an endless reply', trickle],
  ])('is sent once on another connection when that one %s', { tags: ['sweep'] }, async (_, answer) => {
    const { server, first, second } = await sendBoth(answer, 3_000);
    expect(first).toMatchObject({ ok: false, retry: true, unknown: true });
    expect(second).toMatchObject(sent);
    expect(recipients(server)).toEqual(['zeroth', 'first', 'second']);
    expect(server.connections).toBe(2);
  });

  it('is sent once on another connection when the server closes the connection', async () => {
    const { server, first, second } = await sendBoth(hangUp);
    expect(first).toMatchObject({ ok: false, retry: true, unknown: true });
    expect(second).toMatchObject(sent);
    expect(recipients(server)).toEqual(['zeroth', 'first', 'second']);
    expect(server.connections).toBe(2);
  });

  it('is sent once on another connection when the server replies 421 and did not accept the other', async () => {
    const { server, first, second } = await sendBoth('421 4.3.2 going down');
    expect(first).toEqual({ ok: false, retry: true, reason: '421 4.3.2 going down' });
    expect(second).toMatchObject(sent);
    expect(recipients(server)).toEqual(['zeroth', 'first', 'second']);
    expect(server.connections).toBe(2);
  });

  it('has its full timeout from the reply to the other', { tags: ['sweep'] }, async () => {
    const slowly: Answer = async (socket, usual) => {
      const timer = setInterval(() => socket.write(`${usual.slice(0, 3)}-wait\r\n`), 20);
      await sleep(1_200);
      clearInterval(timer);
      socket.write(`${usual}\r\n`);
    };
    const { server, sender } = await openScripted({ ...single, timeout_ms: 2_000 }, pipelining);
    server.decide = ({ verb }) => (verb === '.' ? slowly : undefined);
    expect(await Promise.all([sender.send(to('first')), sender.send(to('second'))])).toMatchObject([sent, sent]);
    expect([recipients(server), server.connections]).toEqual([['first', 'second'], 1]);
  });

  it('is sent if the other was refused', async () => {
    const { server, first, second } = await sendBoth('554 5.7.1 spam');
    expect(first).toEqual({ ok: false, retry: false, reason: '554 5.7.1 spam' });
    expect(second).toMatchObject(sent);
    expect(server.connections).toBe(1);
  });
});

describe('a refused recipient', () => {
  const refuse =
    (more: Record<string, Answer> = {}) =>
    ({ verb, to }: { verb: string; to: string }) =>
      verb === 'RCPT' && to.startsWith('nobody') ? '550 5.1.1 no such user' : more[verb];
  const gone = { ok: false, retry: false, gone: true, reason: '550 5.1.1 no such user' };

  it('is reported, and nothing of the mail is sent even if the server accepts DATA', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    server.decide = asked => refuse(asked.connection === 1 ? { DATA: '354 go on' } : {})(asked);
    expect(await sender.send(to('nobody'))).toEqual(gone);
    expect(await sender.send(to('jane'))).toMatchObject(sent);
    expect(recipients(server)).toEqual(['jane']);
    expect(saidOn(server, 1)).toEqual(['MAIL FROM', 'RCPT TO', 'DATA']);
    expect(saidOn(server, 2)).toEqual(mail);
  });

  it.each([[[]], [['PIPELINING']]])('is reset before the next mail on the connection, with %j', async offers => {
    const { server, sender } = await openScripted(single, { offers, decide: refuse() });
    const outcomes = await Promise.all(['nobody', 'jane', 'john'].map(name => sender.send(to(name))));
    expect(outcomes).toMatchObject([gone, sent, sent]);
    const refused = offers.length > 0 ? ['MAIL FROM', 'RCPT TO', 'DATA'] : ['MAIL FROM', 'RCPT TO'];
    const said = saidOn(server, 1);
    expect(said.slice(0, refused.length + 5)).toEqual([...refused, 'RSET', ...mail.slice(0, 3), '.']);
    expect(said.filter(line => line === 'RSET')).toHaveLength(1);
    expect([recipients(server), server.connections]).toEqual([['jane', 'john'], 1]);
  });

  it.each([[[]], [['PIPELINING']]])('closes the connection if RSET fails, with %j', async offers => {
    const { server, sender } = await openScripted(single, { offers, decide: refuse({ RSET: '502 5.5.1 what?' }) });
    expect(await sender.send(to('nobody'))).toEqual(gone);
    expect(await sender.send(to('jane'))).toMatchObject(sent);
    expect(server.mails).toMatchObject([{ connection: 2, to: 'jane@acme.test' }]);
    expect(saidOn(server, 2)).toEqual(mail);
  });
});

describe('a mail', () => {
  it.each([
    ['of lines that begin with dots', '.first\r\n..second\r\n.\r\n...\r\n\r\n.last'],
    ['of a single dot', '.'],
    ['that looks like the end of itself', 'x\r\n.\r\nMAIL FROM:<eve@evil.test>\r\n.\r\n'],
  ])('%s arrives unchanged', async (_, text) => {
    for (const { offers } of [{ offers: [] }, pipelining]) {
      const { server, sender } = await openScripted(single, { offers });
      expect(await sender.send(to('jane', text))).toMatchObject(sent);
      expect(await sender.send(to('john', text))).toMatchObject(sent);
      expect(server.mails.map(({ body }) => body.slice(body.indexOf('\r\n\r\n') + 4))).toEqual(
        Array(2).fill(`${text}\r\n`),
      );
    }
  });

  it('of many chunks arrives unchanged', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    const text = Array.from({ length: 50_000 }, (_, n) => `.line ${n}`).join('\r\n');
    expect(await sender.send(to('jane', text))).toMatchObject(sent);
    expect(server.mails[0]!.body.endsWith(`\r\n\r\n${text}\r\n`)).toBe(true);
  });

  it('that is refused during its data is refused permanently, and affects no other', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    // Stops reading, so that the end of the mail cannot have been sent.
    const refuse: Answer = socket => {
      socket.pause();
      socket.write('552 5.3.4 too large\r\n');
    };
    server.decide = ({ verb, to }) => (verb === 'BODY' && to.startsWith('large') ? refuse : undefined);
    const large = to('large', 'a line of text\n'.repeat(400_000));
    const outcomes = await Promise.all([sender.send(large), sender.send(to('jane'))]);
    expect(outcomes).toMatchObject([{ ok: false, retry: false, reason: '552 5.3.4 too large' }, sent]);
    expect(server.mails).toMatchObject([{ connection: 2, to: 'jane@acme.test' }]);
  });
});

describe('a reply', () => {
  it('may arrive in pieces, and several may arrive in one', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    const pieces = (...parts: string[]): Answer => {
      return async socket => {
        for (const part of parts) {
          // One at a time: writes at the same time arrive together.
          await new Promise<void>(resolve => void socket.write(part, () => setImmediate(resolve)));
          await sleep(5);
        }
      };
    };
    const nothing: Answer = () => {};
    server.decide = ({ verb, to }) => {
      if (to.startsWith('first') && verb === 'DATA') return pieces('35', '4-go\r', '\n354-', 'on\r\n3', '54 now\r\n');
      if (to.startsWith('first') && verb === '.') return pieces('250-ta', 'ken\r\n', '250 2.0.0 ok\r', '\n');
      if (to.startsWith('second') && verb === 'RCPT') return nothing;
      if (to.startsWith('second') && verb === 'DATA') return pieces('250-fine\r\n250 fine\r\n354 go on\r\n');
      return undefined;
    };
    expect(await sender.send(to('first'))).toMatchObject(sent);
    expect(await sender.send(to('second'))).toMatchObject(sent);
    expect([recipients(server), server.connections]).toEqual([['first', 'second'], 1]);
  });

  it('of several lines is reported as a whole', async () => {
    const { sender } = await openScripted(single, {
      decide: ({ verb }) => (verb === 'RCPT' ? '550-5.7.1 not\r\n550 5.7.1 for you' : undefined),
    });
    const reason = expect.stringMatching(/^550-5\.7\.1 not\s550 5\.7\.1 for you$/);
    expect(await sender.send(to('jane'))).toEqual({ ok: false, retry: false, reason });
  });

  it.each([
    ['550-5.1.1 no such user', '450 4.2.0 greylisted', { retry: true, ofRecipient: true }],
    ['450-4.2.0 greylisted', '550 5.1.1 no such user', { retry: true, ofRecipient: true }],
    ['250-fine', '550 5.7.1 no', { retry: true, ofRecipient: true }],
    ['550-5.1.1 no such user', '551 5.1.6 moved', { retry: false, gone: true }],
  ])(
    'whose lines disagree ("%s", "%s") counts as temporary unless all are permanent',
    async (first, last, expected) => {
      const { sender } = await openScripted(single, {
        decide: ({ verb }) => (verb === 'RCPT' ? `${first}\r\n${last}` : undefined),
      });
      expect(await sender.send(to('jane'))).toEqual({ ok: false, ...expected, reason: `${first} ${last}` });
    },
  );

  it('whose last line is positive is positive, whatever the others say', async () => {
    const mixed: Answer = socket => socket.write('550-no\r\n250 yes\r\n');
    const { server, sender } = await openScripted(single, {
      decide: ({ verb }) => (verb === 'RCPT' ? mixed : undefined),
    });
    expect(await sender.send(to('jane'))).toMatchObject(sent);
    expect(recipients(server)).toEqual(['jane']);
  });

  it.each([
    ['MAIL', false],
    ['RCPT', false],
    ['.', true],
  ])('to "%s" that is invalid leaves the outcome open; may have been accepted: %s', async (asked, unknown) => {
    const { server, sender } = await openScripted(single, pipelining);
    server.decide = ({ verb, connection }) => (verb === asked && connection === 1 ? 'Segmentation fault' : undefined);
    const outcome = await sender.send(to('first'));
    expect(outcome).toMatchObject({ ok: false, retry: true, reason: expect.stringContaining('Segmentation fault') });
    expect('unknown' in outcome).toBe(unknown);
    expect(await sender.send(to('second'))).toMatchObject(sent);
    expect(server.mails.at(-1)).toMatchObject({ connection: 2, to: 'second@acme.test' });
  });

  it.each([
    ['in one line', 'x'],
    ['in many lines', '250-x\r\n'],
  ])('that is endless, %s, closes the connection, and the mail may be retried', async (_, piece) => {
    const { server, sender } = await openScripted(single, pipelining);
    const block = piece.repeat(Math.ceil(8_192 / piece.length));
    const flood: Answer = async socket => {
      // Continues after the client has closed the connection.
      socket.removeAllListeners('end');
      while (!socket.destroyed) await new Promise(resolve => socket.write(block, resolve));
    };
    server.decide = ({ verb, connection }) => (verb === 'MAIL' && connection === 1 ? flood : undefined);
    const reason = expect.stringContaining('sent an endless reply');
    expect(await sender.send(to('first'))).toEqual({ ok: false, retry: true, reason });
    expect(await sender.send(to('second'))).toMatchObject(sent);
    expect(recipients(server)).toEqual(['second']);
    // At once, not when the server has sent everything.
    await eventually(() => expect(server.open()).toBe(1));
  });
});

describe('a mail that may no longer be sent', () => {
  it.each([
    ['short', 'short'],
    ['long', 'x '.repeat(100_000)],
  ])('is withdrawn before the end of its content (%s), and others are sent', async (_, text) => {
    const { server, sender } = await openScripted(single, pipelining);
    let mayHandOver = true;
    server.decide = ({ verb }) => {
      if (verb === 'DATA' && server.mails.length === 0) mayHandOver = false;
      return undefined;
    };
    const first = withHandoverCheck(
      () => mayHandOver,
      () => sender.send(to('first', text)),
    );
    expect(await first).toMatchObject({ ok: false, withdrawn: true });
    expect(await sender.send(to('second'))).toMatchObject({ ok: true });
    expect(recipients(server)).toEqual(['second']);
  });
});

describe('a connection under constant load', () => {
  it('is replaced after a minute without losing or duplicating a mail', async () => {
    const { server, sender } = await openScripted(single, pipelining);
    // Every mail takes three seconds.
    server.decide = ({ verb }) => {
      if (verb === '.') passTime(3_000);
      return undefined;
    };
    const names = Array.from({ length: 100 }, (_, n) => `p${n}`);
    const outcomes = await Promise.all(names.map(name => sender.send(to(name))));
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
    expect(recipients(server)).toEqual(names);
    const shares = server.commands.map((_, i) => server.mails.filter(({ connection }) => connection === i + 1).length);
    // 20 mails take a minute; then one may be in flight, and one queued behind it.
    expect(Math.max(...shares)).toBeLessThanOrEqual(23);
    expect(shares).toHaveLength(5);
    await eventually(() => expect(server.open()).toBe(1));
  });
});
