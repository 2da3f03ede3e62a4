/** What mails about other mails report. */
import { describe, expect, test } from 'vitest';
import type { FeedbackEvent } from '../../src/core/feedback/event.ts';
import { smtp } from '../../src/providers/feedback/smtp.ts';
import { dsn, failed, original, type Report, report } from '../support/reports.ts';

const read = (mail: string | Buffer) => smtp.read({ contentType: '', bytes: Buffer.from(mail) });

/** Returns the fields that say what happened to whom. */
const brief = (events: FeedbackEvent[]) =>
  events.map(({ type, permanent, reason, recipient }) => [type, permanent, reason, recipient]);

describe('delivery status notifications', () => {
  test('give a bounce with the recipient, the original message, the time and the words of the server', () => {
    expect(read(dsn([failed('jane@example.test', '5.1.1', '550 5.1.1 <jane@example.test>... User unknown')]))).toEqual([
      {
        type: 'bounced',
        permanent: true,
        reason: 'unknown_user',
        recipient: 'jane@example.test',
        messageId: '<1234.abcd@acme.test>',
        deliveryId: null,
        at: '2026-03-03T09:00:00.000Z',
        text: '550 5.1.1 <jane@example.test>... User unknown',
      },
    ]);
  });

  test('give one event per recipient, each with its own cause', () => {
    const mail = dsn([
      failed('jane@example.test', '5.1.1', '550 5.1.1 User unknown'),
      failed('joe@example.test', '5.2.2', '552 5.2.2 Mailbox full'),
      ['Final-Recipient: rfc822; ann@example.test', 'Action: delivered', 'Status: 2.0.0'],
      ['Final-Recipient: rfc822; bob@example.test', 'Action: delayed', 'Status: 4.4.1'],
    ]);
    expect(brief(read(mail))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
      ['bounced', false, 'mailbox_full', 'joe@example.test'],
      ['delivered', null, null, 'ann@example.test'],
      ['deferred', false, 'network', 'bob@example.test'],
    ]);
  });

  test.each(['delivered', 'relayed', 'expanded', 'deliverable'])('with the action %s are no bounces', action => {
    const [event] = read(dsn([['Final-Recipient: rfc822; jane@example.test', `Action: ${action}`, 'Status: 2.6.0']]));
    expect(event).toMatchObject({ type: 'delivered', permanent: null, reason: null });
  });

  test('name the address that the message was sent to, not the one it was forwarded to', () => {
    const fields = [
      'Original-Recipient: rfc822; jane@example.test',
      ...failed('j.doe@other.test', '5.1.1', '550 5.1.1 x'),
    ];
    expect(read(dsn([fields]))[0]!.recipient).toBe('jane@example.test');
  });

  test('without a diagnosis are explained by the notice about the same recipient', () => {
    const bare = (address: string) => [`Final-Recipient: rfc822; ${address}`, 'Action: failed', 'Status: 5.0.0'];
    const notice = [
      'jane@example.test: 550 5.1.1 <jane@example.test>: Recipient address rejected: User unknown',
      'joe@example.test: 552 5.2.2 <joe@example.test>: Mailbox full',
    ].join('\r\n');
    expect(brief(read(dsn([bare('jane@example.test'), bare('joe@example.test')], { notice })))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
      ['bounced', false, 'mailbox_full', 'joe@example.test'],
    ]);
  });

  test('of several recipients are explained by the lines about each, in whatever order they are', () => {
    const bare = (address: string) => [`Final-Recipient: rfc822; ${address}`, 'Action: failed', 'Status: 5.0.0'];
    const notice = [
      '   ----- The following addresses had permanent fatal errors -----',
      '<jane@example.test>',
      '<joe@example.test>',
      '   ----- Transcript of session follows -----',
      '>>> RCPT To:<joe@example.test>',
      '<<< 552 <joe@example.test>... Mailbox full',
      '>>> RCPT To:<jane@example.test>',
      '<<< 550 <jane@example.test>... User unknown',
    ].join('\r\n');
    expect(brief(read(dsn([bare('jane@example.test'), bare('joe@example.test')], { notice })))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
      ['bounced', false, 'mailbox_full', 'joe@example.test'],
    ]);
  });

  test('that name a local mailbox are about the address that begins with it', () => {
    const local = (name: string) => [`Final-Recipient: x-local; ${name}`, 'Action: failed', 'Status: 5.1.1'];
    const headers = ['X-Failed-Recipients: jane@example.test, joe@example.test'];
    expect(read(dsn([local('joe'), local('jane')], { headers })).map(event => event.recipient)).toEqual([
      'joe@example.test',
      'jane@example.test',
    ]);
  });

  test('with an address of the sender say nothing about the recipient', () => {
    const mail = dsn([failed('jane@example.test', '5.1.1', '550 5.1.1 <news@acme.test>: user unknown')]);
    expect(brief(read(mail))).toEqual([['bounced', false, 'policy', 'jane@example.test']]);
  });

  test('are also read where a server put them into the text', () => {
    const notice = `The message failed.\r\n\r\n${failed('jane@example.test', '5.1.1', '550 5.1.1 User unknown').join('\r\n')}\r\n`;
    expect(brief(read(report({ notice })))).toEqual([['bounced', true, 'unknown_user', 'jane@example.test']]);
  });

  test('without any recipient give a bounce of the recipient of the original message', () => {
    expect(brief(read(dsn([])))).toEqual([['bounced', false, 'other', 'jane@example.test']]);
  });

  test('with returned headers instead of the message give its id', () => {
    const fields = failed('jane@example.test', '5.1.1', '550 5.1.1 User unknown').join('\r\n');
    const [event] = read(
      report({
        parts: [
          ['message/delivery-status', fields],
          ['text/rfc822-headers', 'Message-Id: <55@acme.test>\r\nTo: jane@example.test'],
        ],
      }),
    );
    expect(event!.messageId).toBe('<55@acme.test>');
  });

  test('in Japanese without a charset are understood', () => {
    const text = Buffer.from('1b244238 2b243424 2b246a24 5e243b24 73 1b2842'.replaceAll(' ', ''), 'hex').toString(
      'latin1',
    );
    const mail = dsn([
      [
        'Final-Recipient: rfc822; jane@example.test',
        'Action: failed',
        'Status: 5.0.0',
        `Diagnostic-Code: X-Notes; ${text}`,
      ],
    ]);
    expect(read(Buffer.from(mail, 'latin1'))[0]!.text).toMatch(/^[\u3040-\u30ff\u4e00-\u9fff]+$/);
  });
});

describe('bounces in prose', () => {
  const copy = `--- Below this line is a copy of the message.\n\n${original}`;

  test.each<[system: string, mail: Report, expected: unknown[]]>([
    [
      'qmail',
      {
        subject: 'failure notice',
        notice: `Hi. This is the qmail-send program at acme.test.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n<jane@example.test>:\n192.0.2.1 does not like recipient.\nRemote host said: 550 No such user here\nGiving up on 192.0.2.1.\n\n${copy}`,
      },
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ],
    [
      'Exim',
      {
        headers: ['X-Failed-Recipients: jane@example.test'],
        subject: 'Mail delivery failed: returning message to sender',
        notice: `A message that you sent could not be delivered to one or more of its\nrecipients. This is a permanent error. The following address(es) failed:\n\n  jane@example.test\n    SMTP error from remote mail server after RCPT TO:<jane@example.test>:\n    host mx.example.test [192.0.2.1]: 550 Unknown user\n\n------ This is a copy of the message, including all the headers. ------\n\n${original}`,
      },
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ],
    [
      'Exchange',
      {
        from: 'System Administrator <postmaster@example.test>',
        subject: 'Undeliverable: Hello',
        notice:
          'Your message\n\n  To: jane@example.test\n  Subject: Hello\n\ndid not reach the following recipient(s):\n\njane@example.test on Tue, 3 Mar 2026 10:00:00 +0100\n    The recipient name is not recognized\n',
        parts: [['message/rfc822', original]],
      },
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ],
    [
      'Gmail, about a delay',
      {
        subject: 'Delivery Status Notification (Delay)',
        notice: `THIS IS A WARNING MESSAGE ONLY.\n\nDelivery to the following recipient has been delayed:\n\n  jane@example.test\n\nThe error that the other server returned was: 450 4.2.2 Mailbox full\n\n----- Original message -----\n\n${original}`,
      },
      ['deferred', false, 'mailbox_full', 'jane@example.test'],
    ],
    [
      'a person who forwards it',
      {
        from: 'Ann <ann@acme.test>',
        subject: 'Fwd: Returned mail: see transcript for details',
        notice:
          '> ----- The following addresses had permanent fatal errors -----\n> <jane@example.test>\n> (reason: 550 5.1.1 <jane@example.test>... User unknown)\n',
      },
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ],
    [
      'a mailing list',
      {
        from: 'dev-admin@lists.test',
        subject: 'You news@acme.test are not member',
        notice: 'You are not a member of this mailing list <dev@lists.test>.\n',
      },
      ['bounced', false, 'policy', 'dev@lists.test'],
    ],
  ])('of %s are understood', (_, mail, expected) => {
    expect(brief(read(report(mail)))).toEqual([expected]);
  });

  test('about several recipients give an event for each', () => {
    const notice = `<jane@example.test>:\nRemote host said: 550 5.1.1 User unknown\n\n<joe@example.test>:\nRemote host said: 552 mailbox full\n\n${copy}`;
    const events = read(report({ subject: 'failure notice', notice }));
    expect(brief(events)).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
      ['bounced', false, 'mailbox_full', 'joe@example.test'],
    ]);
    expect(events.map(event => event.messageId)).toEqual(['<1234.abcd@acme.test>', '<1234.abcd@acme.test>']);
  });

  test('name the recipients of their header, not every address in the text', () => {
    const headers = ['X-Failed-Recipients: jane@example.test, joe@example.test'];
    const notice = `jane@example.test\n  550 5.1.1 User unknown\njoe@example.test\n  552 mailbox full\nhelp@isp.test is there for you\n\n${copy}`;
    expect(brief(read(report({ headers, notice })))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
      ['bounced', false, 'mailbox_full', 'joe@example.test'],
    ]);
    const silent = read(report({ headers, notice: 'Your message could not be delivered: mailbox full.' }));
    expect(brief(silent).map(([, , reason, recipient]) => [reason, recipient])).toEqual([
      ['mailbox_full', 'jane@example.test'],
      ['mailbox_full', 'joe@example.test'],
    ]);
  });

  test.each([
    ['base64', (text: string) => Buffer.from(text).toString('base64').replace(/.{60}/g, '$&\r\n')],
    [
      'quoted-printable',
      (text: string) => text.replaceAll('=', '=3D').replaceAll('x', '=78').replace('unknown', 'unk=\r\nnown'),
    ],
  ])('in %s are decoded', (encoding, encode) => {
    const notice = encode('<jane@example.test>: 550 5.1.1 User unknown');
    expect(brief(read(report({ headers: [`Content-Transfer-Encoding: ${encoding}`], notice })))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ]);
  });

  test('in HTML alone are read without the markup', () => {
    const notice =
      '<html><body><p>Your message to <b>jane@example.test</b> failed:</p><p>550 5.1.1 User&nbsp;unknown</p></body></html>';
    expect(brief(read(report({ headers: ['Content-Type: text/html'], notice })))).toEqual([
      ['bounced', true, 'unknown_user', 'jane@example.test'],
    ]);
  });

  test('do not take words of the returned message for those of a server', () => {
    const notice = `Your message could not be delivered.\n\n${copy}\nThe user is unknown, 550 5.1.1 no such user\n`;
    expect(read(report({ notice }))[0]).toMatchObject({ permanent: false });
  });
});

describe('complaints', () => {
  const abuse = (type: string, ...fields: string[]) =>
    report({
      from: 'feedback@isp.test',
      subject: 'Abuse report',
      parts: [
        [
          'message/feedback-report',
          [`Feedback-Type: ${type}`, 'Version: 1', 'User-Agent: ISP/1.0', ...fields].join('\r\n'),
        ],
        ['message/rfc822', original],
      ],
    });

  test('of a person name the recipient and the message', () => {
    const mail = abuse(
      'abuse',
      'Original-Rcpt-To: <jane@example.test>',
      'Arrival-Date: Mon, 2 Mar 2026 10:00:00 +0000',
    );
    expect(read(mail)).toMatchObject([
      {
        type: 'complained',
        permanent: null,
        reason: null,
        recipient: 'jane@example.test',
        messageId: '<1234.abcd@acme.test>',
        at: '2026-03-02T10:00:00.000Z',
      },
    ]);
  });

  test('without the recipient are of the recipient of the message', () => {
    expect(read(abuse('fraud'))[0]!.recipient).toBe('jane@example.test');
  });

  test('of a server about authentication are marked, because no person complained', () => {
    expect(read(abuse('auth-failure'))).toMatchObject([{ type: 'complained', reason: 'authentication' }]);
  });

  test('that are withdrawn report nothing', () => {
    expect(read(abuse('not-spam'))).toEqual([]);
  });

  test('include the mail by which an app unsubscribes its user', () => {
    const mail = report({
      from: 'Jane <jane@example.test>',
      subject: 'unsubscribe',
      headers: ['Auto-Submitted: auto-replied'],
      notice: 'The app sent this email to unsubscribe from the message.',
    });
    expect(read(mail)).toMatchObject([{ type: 'complained', recipient: 'jane@example.test', text: 'opt-out' }]);
  });

  test('of Hotmail, which have no report, are recognized by their subject', () => {
    const returned = `X-HmXmrOriginalRecipient: joe@hotmail.test\n${original}`;
    const mail = report({
      from: 'staff@hotmail.test',
      subject: 'complaint about message from 192.0.2.1',
      parts: [['message/rfc822', returned]],
    });
    expect(brief(read(mail))).toEqual([['complained', null, null, 'joe@hotmail.test']]);
  });
});

describe('events of SES that SNS delivers by mail', () => {
  const bounce = {
    notificationType: 'Bounce',
    bounce: {
      bounceType: 'Permanent',
      bouncedRecipients: [{ emailAddress: 'jane@example.test', diagnosticCode: 'smtp; 550 5.1.1 user unknown' }],
    },
    mail: { messageId: '0001' },
  };
  const expected = [{ type: 'bounced', permanent: true, recipient: 'jane@example.test', messageId: '0001' }];

  test.each([
    ['in the envelope of SNS', JSON.stringify({ Type: 'Notification', Message: JSON.stringify(bounce) })],
    ['wrapped at any position', JSON.stringify(bounce).replace(/.{60}/g, '$&\r\n')],
    ['in lines, above a footer', `${JSON.stringify(bounce, null, 2)}\r\n\r\n--\r\nTo unsubscribe, open this link.`],
  ])('are read without the headers of SNS, %s', (_, notice) => {
    expect(read(report({ from: 'Ann <ann@acme.test>', subject: 'Notification', notice }))).toMatchObject(expected);
  });

  test('are read like the webhook', () => {
    const event = {
      notificationType: 'Complaint',
      complaint: { complainedRecipients: [{ emailAddress: 'jane@example.test' }] },
      mail: { messageId: '0001' },
    };
    const notice = `${JSON.stringify(event)}\r\n\r\n--\r\nIf you wish to stop receiving notifications…`;
    expect(
      read(
        report({
          from: 'no-reply@sns.test',
          subject: 'AWS Notification Message',
          headers: ['x-amz-sns-message-id: 1'],
          notice,
        }),
      ),
    ).toMatchObject([{ type: 'complained', recipient: 'jane@example.test', messageId: '0001' }]);
  });
});

describe('other mail reports nothing', () => {
  test.each<[what: string, mail: Report]>([
    [
      'a vacation reply',
      {
        from: 'Jane <jane@example.test>',
        subject: 'Away until May 5',
        headers: ['Auto-Submitted: auto-replied'],
        notice: 'I am away.',
      },
    ],
    [
      'an out-of-office reply to a bounce',
      {
        from: 'Jane <jane@example.test>',
        subject: 'Automatic reply: Undelivered mail',
        notice: 'I am away. 550 5.1.1 User unknown',
      },
    ],
    [
      'a reply of a postmaster',
      { from: 'postmaster@example.test', subject: 'Re: question', notice: 'Hello, thank you for asking.' },
    ],
    [
      'a reply of a person to a bounce',
      {
        from: 'Jane <jane@example.test>',
        subject: 'Re: failure notice',
        notice: 'What is this? 550 5.1.1 User unknown',
      },
    ],
    [
      'a question of a customer',
      { from: 'Jane <jane@example.test>', subject: 'Problem with delivery status', notice: 'It failed! Order 550 4.' },
    ],
    [
      'a newsletter',
      { from: 'shop@example.test', subject: 'New in March', notice: 'Buy now. User unknown? 550 reasons to come.' },
    ],
    [
      'a read receipt',
      {
        from: 'Jane <jane@example.test>',
        subject: 'Read: Hello',
        parts: [
          [
            'message/disposition-notification',
            'Final-Recipient: rfc822; jane@example.test\r\nDisposition: manual-action/MDN-sent-manually; displayed',
          ],
        ],
      },
    ],
  ])('such as %s', (_, mail) => {
    expect(read(report(mail))).toEqual([]);
  });

  test('and what is no mail is refused', () => {
    for (const text of ['{"event": "bounce"}', 'hello', '']) expect(() => read(text)).toThrow('is not a mail');
  });
});
