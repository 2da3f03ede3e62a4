/** What the webhooks of each service report. */
import { describe, expect, test } from 'vitest';
import { type FeedbackEvent, feedbackReasons, feedbackTypes } from '../../src/core/feedback/event.ts';
import { feedbackReaders } from '../../src/providers/feedback/index.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';
import {
  at,
  brevo,
  form,
  jane,
  mailersend,
  mailgun,
  mailjet,
  mailtrap,
  mandrill,
  multipart,
  postmark,
  resend,
  rows,
  seconds,
  sendgrid,
  sns,
  sparkpost,
  twilio,
  unknown,
  vonage,
  whatsapp,
} from '../support/feedback-webhooks.ts';

const read = (name: string, body: unknown, contentType = '') =>
  feedbackReaders[name]!.read({
    contentType,
    bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });

test.each(rows)('%s reports %j as %j', (service, body, outcome) => {
  const events = read(service, body);
  expect(events.map(({ type, permanent, reason }) => [type, permanent, reason])).toEqual(outcome ? [outcome] : []);
  for (const { recipient } of events)
    expect(recipient).toBe(['twilio', 'vonage', 'whatsapp'].includes(service) ? recipient : jane);
});

describe('the fields of an event', () => {
  const mailId = '<m-1@acme.test>';
  const own = 'd-1';
  test.each<[service: string, body: unknown, messageId: string, deliveryId: string | null, at: string | null]>([
    ['ses', sns({ eventType: 'Open', open: { timestamp: at } }), 'm-1', own, at],
    ['ses', sns({ eventType: 'Open', open: {} }), 'm-1', own, '2026-03-03T10:00:01.000Z'],
    ['sendgrid', sendgrid({ event: 'open' }), mailId, own, at],
    ['mailgun', mailgun({ event: 'opened' }), mailId, own, '2026-03-03T10:00:00.500Z'],
    ['postmark', postmark({ RecordType: 'Open' }), 'm-1', own, at],
    ['resend', resend('email.opened', { tags: { belfry_id: own } }), 'm-1', own, at],
    ['brevo', brevo('opened'), mailId, null, at],
    ['sparkpost', sparkpost('track_event', { type: 'open' }), 'm-1', own, at],
    ['mailjet', mailjet({ event: 'open' }), '19703', own, at],
    ['mailersend', mailersend('opened'), 'm-1', null, at],
    ['mandrill', mandrill('open'), 'm-1', own, at],
    ['mailtrap', mailtrap({ event: 'open' }), 'm-1', own, at],
    ['twilio', twilio({ MessageStatus: 'read' }), 'SM1', null, null],
    ['vonage', vonage({ status: 'read' }), 'u-1', own, at],
    ['whatsapp', whatsapp({ status: 'read' }), 'wamid.1', own, at],
  ])('of %s are its message, our delivery and the time: %j', (service, body, messageId, deliveryId, time) => {
    expect(read(service, body)).toMatchObject([{ messageId, deliveryId, at: time }]);
  });

  test('keep all digits of an id that is a number', () => {
    const [event] = read('mailjet', '[{"event":"open","email":"jane@acme.test","MessageID":12345678901234567}]');
    expect(event!.messageId).toBe('12345678901234567');
  });

  test('are null rather than wrong if the service leaves them out', () => {
    expect(read('mailgun', { 'event-data': { event: 'delivered' } })).toEqual([
      {
        type: 'delivered',
        permanent: null,
        reason: null,
        recipient: null,
        messageId: null,
        deliveryId: null,
        at: null,
        text: null,
      },
    ]);
  });
});

describe('bodies', () => {
  const fields = {
    event: 'bounced',
    recipient: jane,
    'Message-Id': '<m-1@acme.test>',
    timestamp: String(seconds),
    code: '550',
    error: unknown,
  };

  test.each([
    ['a form', form(fields), 'application/x-www-form-urlencoded'],
    ['a form in parts', multipart(fields), 'multipart/form-data; boundary=limit'],
    ['a form of unnamed type', form(fields), ''],
    ['a form in parts of unnamed type', multipart(fields), ''],
  ])('of the old Mailgun are read as %s', (_, body, contentType) => {
    expect(read('mailgun', body, contentType)).toMatchObject([
      { type: 'bounced', permanent: true, reason: 'unknown_user', recipient: jane, messageId: '<m-1@acme.test>', at },
    ]);
  });

  test('of the old Mailgun give the id in the list of headers, and are not permanent if they are too old', () => {
    const { 'Message-Id': id, ...others } = { ...fields, event: 'dropped', reason: 'old', code: '602', error: '' };
    const headers = JSON.stringify([
      ['To', jane],
      ['Message-Id', id],
    ]);
    expect(read('mailgun', form({ ...others, 'message-headers': headers }))).toMatchObject([
      { type: 'bounced', permanent: false, reason: 'expired', messageId: id },
    ]);
    expect(read('mailgun', form({ ...others, 'message-headers': '[' }))).toMatchObject([{ messageId: null }]);
  });

  test('of Mandrill are read in parts too', () => {
    const events = JSON.stringify([
      { event: 'open', msg: { email: jane } },
      { event: 'click', msg: { email: jane } },
    ]);
    expect(read('mandrill', multipart({ mandrill_events: events })).map(event => event.type)).toEqual([
      'opened',
      'clicked',
    ]);
  });

  test('of Mailtrap are read as JSON lines', () => {
    const lines = ['open', 'click'].map(event => JSON.stringify({ event, email: jane })).join('\n');
    expect(read('mailtrap', lines).map(event => event.type)).toEqual(['opened', 'clicked']);
  });

  test('of SES are read with raw message delivery', () => {
    expect(
      read('ses', { eventType: 'Open', mail: { messageId: 'm-1', destination: [jane, 'joe@acme.test'] } }),
    ).toMatchObject([
      { type: 'opened', recipient: jane },
      { type: 'opened', recipient: 'joe@acme.test' },
    ]);
  });

  const names = Object.keys(feedbackReaders).filter(name => name !== 'smtp');
  test.each(names)('of %s that are garbage are refused with a reason', name => {
    for (const body of ['', '{', '[1]', '"text"', 'null', '\u0000']) {
      let events: unknown;
      try {
        events = read(name, body);
      } catch (error) {
        expect((error as Error).message).toMatch(/^(is|must|has|event) /);
        continue;
      }
      expect(events).toEqual([]);
    }
  });

  test.each(names)('of %s with values of the wrong type give no wrong event', name => {
    const wrong = {
      event: {},
      type: [],
      RecordType: 1,
      msys: 'x',
      data: 'x',
      'event-data': { event: 'delivered', message: 'x', recipient: {} },
      status: 'delivered',
      to: {},
      MessageStatus: 'x',
      mandrill_events: '[]',
    };
    const body = ['mandrill', 'twilio'].includes(name) ? form({ mandrill_events: '[]', MessageStatus: 'x' }) : wrong;
    for (const event of read(name, body))
      expect(event).toMatchObject({ type: 'delivered', recipient: null, messageId: null });
  });

  test.each(names)('of %s with names that objects inherit give no wrong event', name => {
    const isText = (value: unknown) => value === null || typeof value === 'string';
    const bodies = rows.flatMap(([service, body]) => (service === name ? [body] : []));
    for (const body of bodies) {
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      // Every word, once as a key and once as a value of each field.
      for (const word of new Set(text.match(/\b[A-Za-z]\w*\b/g))) {
        for (const inherited of ['constructor', '__proto__', 'toString']) {
          let events: FeedbackEvent[] = [];
          try {
            events = read(name, text.replaceAll(new RegExp(`\\b${word}\\b`, 'g'), inherited));
          } catch (error) {
            expect((error as Error).message).toMatch(/^(is|must|has|event) /);
          }
          for (const { type, permanent, reason, ...texts } of events) {
            expect(feedbackTypes).toContain(type);
            expect([null, ...Object.keys(feedbackReasons)]).toContain(reason);
            expect([null, true, false]).toContain(permanent);
            expect(Object.values(texts).every(isText)).toBe(true);
          }
        }
      }
    }
  });

  test('with too many events are refused', () => {
    expect(() =>
      read(
        'sendgrid',
        Array.from({ length: 10_001 }, () => ({})),
      ),
    ).toThrow('more than 10000 events');
  });

  test('of 1 MB take no longer than the limit', () => {
    const long = { event: 'bounce', type: 'bounce', email: jane, reason: '5'.repeat(1_000_000) };
    expect(isTooSlow(costOf(() => read('sendgrid', [long])))).toBe(false);
    expect(
      isTooSlow(costOf(() => read('mailgun', multipart({ event: 'bounced', error: '('.repeat(1_000_000) })))),
    ).toBe(false);
  });
});
