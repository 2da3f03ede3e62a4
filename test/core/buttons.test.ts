/** The buttons of messages, their tokens, and replies that acknowledge. */
import { expect, test } from 'vitest';
import { isAcknowledgeReply } from '../../src/core/message/acknowledge-texts.ts';
import { readButtonToken, signButtonToken, toButtons } from '../../src/core/message/buttons.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';

const signer = createSigner('a secret of at least 32 characters');
const delivery = { organizationId: 7, occurrence: '01890a5d-ac96-774b-bcce-b302099a8057', id: 42 };

test('a token names the delivery and the choice, and fits into 64 bytes', () => {
  const token = signButtonToken(delivery, 'r', signer.signShort);
  expect(readButtonToken(token, signer.isSignedShort)).toEqual({ ...delivery, choice: 'r' });
  const largest = { organizationId: 2 ** 31, occurrence: 'ffffffff-ffff-7fff-bfff-ffffffffffff', id: 2 ** 51 };
  expect(signButtonToken(largest, 'a', signer.signShort).length).toBeLessThanOrEqual(64);
});

test('a token that was changed, or signed for another purpose, is refused', () => {
  const token = signButtonToken(delivery, 'a', signer.signShort);
  const text = token.slice(0, -17);
  const others = [
    token.replace('-a.', '-r.'),
    token.replace(/^7/, '8'),
    `${text}.${signer.signShort(text, 'tracked open')}`,
    '',
  ];
  for (const one of others) expect(readButtonToken(one, signer.isSignedShort), one).toBeUndefined();
});

test('buttons follow from the step and the actions of the message, in the language of the recipient', () => {
  const message = { step: 1, acknowledgeUrl: 'https://b.test/acknowledge/t', locale: 'de-AT' };
  const labels = (more: object) => toButtons({ ...message, ...more }, choice => choice).map(({ label }) => label);
  const own = { name: 'mine', label: 'Ich', acknowledge: true as const };
  const page = { name: 'page', label: 'Seite', url: 'https://acme.test/a b' };
  const path = { name: 'path', label: 'Pfad', url: '/orders/7' };
  expect(labels({})).toEqual(['Übernehmen', 'Erledigt', '1 h zurückstellen']);
  expect(labels({ actions: [page, own, path] })).toEqual(['Ich', 'Erledigt', 'Seite', '1 h zurückstellen']);
  // With more, it would be crowded.
  const more = { name: 'more', label: 'Mehr', url: 'https://acme.test/more' };
  expect(labels({ actions: [page, more] })).toEqual(['Übernehmen', 'Erledigt', 'Seite', 'Mehr']);
  expect(labels({ step: 0, actions: [own, page] })).toEqual(['Ich', 'Seite']);
  expect(labels({ step: -1, actions: [own, page] })).toEqual(['Seite']);
  expect(labels({ step: 0 })).toEqual([]);
  const event = { name: 'water', label: 'Wasser', event: 'water' };
  expect(toButtons({ ...message, step: 0, actions: [page, event] }, choice => `token ${choice}`)).toEqual([
    { label: 'Seite', url: 'https://acme.test/a%20b' },
    { label: 'Wasser', token: 'token 1', choice: '1' },
  ]);
});

test.each([
  ['1', true],
  [' ack. ', true],
  ['ÜBERNEHMEN!', true],
  ['Prendre en charge', true],
  ['11', false],
  ['no', false],
  ['1'.repeat(1_000), false],
])('the reply %j acknowledges: %s', (text, isOne) => {
  expect(isAcknowledgeReply(text)).toBe(isOne);
});
