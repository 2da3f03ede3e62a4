import MailComposer from 'nodemailer/lib/mail-composer';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLayout } from '../../src/core/render/layout-default.ts';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { type ComposeOptions, createComposer } from '../../src/providers/email/smtp/compose.ts';
import { smtp } from '../../src/providers/email/smtp/smtp.ts';
import type { Outgoing } from '../../src/providers/sending.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { openSmtpPeer } from '../support/smtp.ts';

const from = 'Acme <no-reply@acme.test>';
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Part {
  headers: Map<string, string>;
  body: string;
}

/** Parses an email by RFC 2045 and 2046. */
function readParts(raw: string): Part[] {
  const end = raw.indexOf('\r\n\r\n');
  const headers = new Map(
    raw
      .slice(0, end)
      .replace(/\r\n(?=[ \t])/g, '')
      .split('\r\n')
      .map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const rest = raw.slice(end + 4);
  const boundary = /^multipart\/alternative;\s*boundary="([^"]+)"$/.exec(headers.get('content-type') ?? '')?.[1];
  if (!boundary) return [{ headers, body: decode(rest, headers.get('content-transfer-encoding')) }];
  const pieces = `\r\n${rest}`.split(`\r\n--${boundary}`);
  expect([pieces[0], pieces.at(-1)]).toEqual(['', '--\r\n']);
  return [{ headers, body: '' }, ...pieces.slice(1, -1).flatMap(piece => readParts(piece.slice(2)))];
}

function decode(body: string, encoding: string | undefined): string {
  if (encoding === '7bit') return body;
  if (encoding === 'base64') {
    expect(body).toMatch(/^([A-Za-z0-9+/=]{1,76}(\r\n|$))*$/);
    return Buffer.from(body, 'base64').toString();
  }
  expect(encoding).toBe('quoted-printable');
  expect(body).toMatch(/^([!-~ \t]{0,76}(\r\n|$))*$/);
  const bytes = body
    .replace(/[ \t]+\r\n/g, '\r\n')
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

const wire = (text: string) => text.replace(/\r\n|\r|\n/g, '\r\n').toWellFormed();

const bodies: [string, string][] = [
  ['plain', 'Hello Jane,\n\nthanks.'],
  ['a little beyond ASCII', 'Schöne Grüße an alle, die heute hier mitlesen und mitreden wollen'],
  ['another script', '你好，世界。您的订单已发货。'.repeat(20)],
  ['characters of two halves', '🎉 done 👩‍👩‍👧'],
  ['half a character', 'broken \ud83d here'],
  ['control characters', 'a\0b\x07c\x7fd'],
  ['lines as long as they may be', `${'x'.repeat(998)}\n${'y'.repeat(998)}`],
  ['a line that is too long', `short\n${'word '.repeat(300)}\nshort`],
  ['a line that is too long without a place to break it', 'x'.repeat(5_000)],
  ['dots at the beginning of lines', '.\n..\n.hidden\n.\r\n.\r\nend'],
  ['all kinds of ends of lines', 'one\ntwo\r\nthree\rfour\n\nfive\n'],
  ['blanks at the end of lines', 'one \ntwo\t\nü  \n'],
  ['what looks like encoding', '=3D =\n=C3=BC ?= =?UTF-8?Q?x?='],
  ['what looks like headers and parts', '--=_x\nContent-Type: text/html\n\nFrom me\n\nSubject: x'],
];

describe('a body', () => {
  it.each(bodies)('of %s is decoded unchanged', async (_, text) => {
    const peer = await openSmtpPeer();
    const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'] });
    const sender = smtp.open({ host: 'localhost', port: peer.port, from, starttls: 'never' }, { outbound });
    closing.push(sender.close, outbound.close, peer.close);
    // Large ones take another code path.
    const large = `${text}\n${'and more\n'.repeat(20_000)}`;
    for (const [words, html] of [[text], [text, `<p>${text}</p>`], [large]] as const) {
      const content = { title: 'T', text: words, ...(html && { html }), missing: [] };
      expect(await sender.send(exampleOutgoing({ content }))).toMatchObject({ ok: true });
      const { raw } = peer.mails.at(-1)!;
      expect(raw).toMatch(/^[\t\r\n\x20-\x7e]*$/);
      expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
      expect(Math.max(...raw.split('\r\n').map(line => line.length))).toBeLessThanOrEqual(998);
      const parts = readParts(raw);
      if (html) {
        expect(parts.map(part => part.body)).toEqual(['', wire(words), wire(html)]);
        expect(parts.map(part => part.headers.get('content-type')?.split(';')[0])).toEqual([
          'multipart/alternative',
          'text/plain',
          'text/html',
        ]);
      } else {
        // An email always ends with a line end.
        const withoutEnd = (body: string) => body.replace(/(\r\n)+$/, '');
        expect(parts.map(part => withoutEnd(part.body))).toEqual([withoutEnd(wire(words))]);
      }
    }
  });

  it('of ASCII stays readable, others use the shorter encoding', () => {
    const encodingOf = (text: string) => {
      const content = { title: 'T', text, missing: [] };
      return readParts(String(createComposer({ from })(exampleOutgoing({ content })).raw))[0]!.headers.get(
        'content-transfer-encoding',
      );
    };
    expect(encodingOf('Hello')).toBe('7bit');
    // Encoding takes four times as long as composing.
    expect(encodingOf(defaultLayout)).toBe('7bit');
    expect(encodingOf('Hello, Grüße, and so on and on and on')).toBe('quoted-printable');
    expect(encodingOf('Привет, мир')).toBe('base64');
  });

  it('carries the id that the service behind the server returns', () => {
    const raw = String(createComposer({ from, webhook_service: 'sendgrid' })(exampleOutgoing({ id: 'a.1' })).raw);
    expect(raw).toContain('\r\nX-SMTPAPI: {"unique_args":{"belfry_id":"a.1"}}\r\n');
  });

  it('cannot end its part: no two emails have the same boundary', () => {
    const compose = createComposer({ from });
    const boundaries = [1, 2].map(() => /boundary="(.*)"/.exec(String(compose(exampleOutgoing()).raw))![1]);
    expect(new Set(boundaries).size).toBe(2);
  });
});

describe('headers and envelope', () => {
  const cases: [string, Partial<ComposeOptions>, { address?: string; title?: string }][] = [
    ['plain', {}, {}],
    ['a title beyond ASCII', {}, { title: 'Grüße aus Köln' }],
    ['a long title', {}, { title: 'word '.repeat(60).trim() }],
    ['a long title in another script', {}, { title: '订单已发货'.repeat(30) }],
    ['a title without a place to break it', {}, { title: 'x'.repeat(300) }],
    ['no title', {}, { title: '' }],
    ['a sender beyond ASCII', { from: 'Bäckerei Süß <brot@acme.test>' }, {}],
    ['a sender with quotes', { from: '"Acme, \\"Inc.\\"" <no-reply@acme.test>' }, {}],
    ['where replies go', { reply_to: 'Hilfe für alle <help@acme.test>' }, {}],
    ['more headers', { headers: { 'List-Unsubscribe': '<https://acme.test/out>', 'X-Word': 'Grüße' } }, {}],
    ['a domain beyond ASCII', {}, { address: 'jane@bücher.test' }],
    ['a mailbox beyond ASCII', {}, { address: 'jürgen@bücher.test' }],
    ['upper case', {}, { address: 'Jane.Doe@ACME.test' }],
    ['two addresses in one', {}, { address: 'jane@acme.test, eve@evil.test' }],
    ['an attempt to add a command', {}, { address: 'jane@acme.test>\r\nRCPT TO:<eve@evil.test' }],
    ['an attempt to add a header', {}, { title: 'T\r\nBcc: eve@evil.test' }],
    ['a quoted mailbox', {}, { address: '"jane doe"@acme.test' }],
    ['a domain literal', {}, { address: 'jane@[127.0.0.1]' }],
    ['a header of its own', { headers: { 'Auto-Submitted': 'no' } }, {}],
  ];

  it.each(cases)('with %s are the same as nodemailer’s', async (_, options, { address, title }) => {
    const content = { title: title ?? 'Order 7', text: 'x', missing: [] };
    const outgoing = exampleOutgoing({ content, ...(address !== undefined && { address }) });
    const { id, envelope, raw } = createComposer({ from, ...options })(outgoing);
    const reference = new MailComposer({
      from: options.from ?? from,
      to: { name: '', address: outgoing.address },
      ...(options.reply_to && { replyTo: options.reply_to }),
      subject: content.title,
      messageId: id,
      date: outgoing.createdAt,
      headers: { 'Auto-Submitted': 'auto-generated', ...options.headers },
      text: 'x',
    }).compile();
    const told = reference.getEnvelope();
    expect(envelope).toEqual({ from: told.from, to: told.to[0] });
    const headersOf = (mail: Buffer) => {
      const head = mail.subarray(0, mail.indexOf('\r\n\r\n')).toString();
      return head.split(/\r\n(?![ \t])/).sort();
    };
    expect(headersOf(raw)).toEqual(headersOf(await reference.build()));
  });

  const headOf = (options: Partial<ComposeOptions>, changes: Partial<Outgoing>) =>
    readParts(String(createComposer({ from, ...options })(exampleOutgoing(changes)).raw))[0]!.headers;

  it('have a Message-ID in the ASCII form of the sender’s domain', () => {
    const { id } = createComposer({ from: 'Bücher <a@bücher.test>' })(exampleOutgoing({ id: 'a.1' }));
    expect(id).toBe('<a.1@xn--bcher-kva.test>');
  });

  it('name the list of a category, and the sender to Gmail', () => {
    const tags = { organization: 'acme', event: 'shop/web/order-paid', notification: 'Receipt: by mail' };
    const headers = headOf({ feedback_id: 'acme-shop' }, { category: 'news', tags });
    expect(headers.get('list-id')).toBe('<news.acme.acme.test>');
    expect(headers.get('feedback-id')).toBe('shop_web_order-paid:acme:Receipt_by_mail:acme-shop');
    expect([...headOf({}, {}).keys()]).not.toEqual(expect.arrayContaining(['list-id']));
    expect(headOf({}, {}).has('feedback-id')).toBe(false);
  });

  it('have the recipient’s own link to unsubscribe instead of the channel’s', () => {
    const headers = {
      'list-unsubscribe': '<https://acme.test/out>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    };
    const raw = String(createComposer({ from, headers })(exampleOutgoing({ unsubscribeUrl: 'https://b.test/u' })).raw);
    expect(raw.match(/^list-unsubscribe.*$/gim)).toEqual([
      'List-Unsubscribe: <https://b.test/u>',
      'List-Unsubscribe-Post: List-Unsubscribe=One-Click',
    ]);
    expect(headOf({ headers }, {}).get('list-unsubscribe')).toBe('<https://acme.test/out>');
  });
});
