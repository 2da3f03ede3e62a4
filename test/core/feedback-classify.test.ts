/** Why a message bounced, and whether its address is dead. */
import { describe, expect, test } from 'vitest';
import { classify } from '../../src/core/feedback/wording/classify.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';
import { shapes } from '../support/hostile-shapes.ts';
import { alive, dead } from '../support/server-replies.ts';

describe('the words of a server', () => {
  test.each(Object.entries(dead).flatMap(([reason, texts]) => texts.map(text => [reason, text] as const)))(
    'mean a dead address, %s: %s',
    (reason, text) => {
      expect(classify([text])).toEqual({ reason, permanent: true });
    },
  );

  test.each(Object.entries(alive).flatMap(([reason, texts]) => texts.map(text => [reason, text] as const)))(
    'leave the address alive, %s: %s',
    (reason, text) => {
      expect(classify([text])).toEqual({ reason, permanent: false });
    },
  );
});

describe('status codes', () => {
  test.each([
    ['5.1.1', 'unknown_user', true],
    ['5.1.2', 'domain_missing', true],
    ['5.1.6', 'moved', true],
    ['4.1.1', 'unknown_user', false],
    ['5.2.1', 'suspended', false],
    ['5.2.2', 'mailbox_full', false],
    ['5.3.4', 'size', false],
    ['4.4.1', 'network', false],
    ['4.4.7', 'expired', false],
    ['5.7.26', 'authentication', false],
    ['5.7.1', 'policy', false],
    ['5.0.0', 'other', false],
    ['', 'other', false],
  ])('decide where there are no words: %s', (status, reason, permanent) => {
    expect(classify([], status)).toEqual({ reason, permanent });
  });

  test('give way to words that contradict them', () => {
    expect(classify(['552 mailbox is over quota'], '5.1.1')).toEqual({ reason: 'mailbox_full', permanent: false });
    expect(classify(['No such user'], '5.0.0')).toEqual({ reason: 'unknown_user', permanent: true });
  });

  test('of the refusing server count more than those of the server that gave up', () => {
    expect(classify(['450 4.7.1 Access denied. IP name lookup failed [192.0.2.1]'], '4.4.7').reason).toBe('blocked');
  });
});

test('a text that says nothing gives way to the next', () => {
  expect(classify(['550 see below', 'the mailbox is full']).reason).toBe('mailbox_full');
});

test.each([
  '550 5.1.2 Domain does not exist (in reply to MAIL FROM command)',
  '550 Host unknown (in reply to EHLO command)',
  '501 5.1.8 Invalid domain [MAIL_FROM]',
])('a refusal before the server knew the recipient is not about the recipient: %s', text => {
  expect(classify([text])).toEqual({ reason: 'policy', permanent: false });
});

test('an account that is disabled elsewhere in the report is not unknown', () => {
  const texts = ['550 user unknown (in reply to RCPT TO command)', 'The account of the user is disabled.'];
  expect(classify(texts)).toEqual({ reason: 'suspended', permanent: false });
});

test.each(Object.entries(shapes))('classifying %s takes no longer than the limit', { tags: ['sweep'] }, (_, shape) => {
  const text = shape(1_000_000);
  expect(isTooSlow(costOf(() => classify([text, text, text])))).toBe(false);
});
