/** Links of a message that someone else looks at. */
import { describe, expect, test } from 'vitest';
import { returnPathOf } from '../../src/core/feedback/return-path.ts';
import { signTrackingToken } from '../../src/core/feedback/tracking.ts';
import { signButtonToken } from '../../src/core/message/buttons.ts';
import {
  signAcknowledgeToken,
  signPreferencesToken,
  signRecipientToken,
  signUnsubscribeToken,
} from '../../src/core/message/recipient-links.ts';
import { templateLimits } from '../../src/core/render/template/limits.ts';
import { type LiveText, textFor, withoutTokens } from '../../src/core/text/live-text.ts';
import { createSigner } from '../../src/lib/secrets/signer.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';

const signer = createSigner('a passphrase of the test');
const delivery = { organizationId: 12_345, occurrence: '0190a5e2-5b7c-7d3e-8f10-0123456789ab', id: 67_890 };
const holder = { organizationId: 12_345, userId: 678, generation: 3 };

const tokens = {
  acknowledge: signAcknowledgeToken({ ...holder, occurrenceId: delivery.occurrence }, signer.sign),
  'acknowledge in a room': signAcknowledgeToken(
    { organizationId: 1, userId: 0, generation: 0, occurrenceId: delivery.occurrence },
    signer.sign,
  ),
  unsubscribe: signUnsubscribeToken({ ...holder, category: 'news_of-the-day', channelType: 'email' }, signer.sign),
  preferences: signPreferencesToken(holder, signer.sign),
  'recipient token': signRecipientToken({ ...holder, expiresAt: 1_800_000_000 }, signer.sign),
  'tracked link': signTrackingToken({ ...delivery, target: 'https://acme.test/a?b=c' }, signer.signShort),
  'tracked open': signTrackingToken({ ...delivery, target: undefined }, signer.signShort),
  button: signButtonToken(delivery, 'a', signer.signShort),
  'return path': returnPathOf(delivery, signer.signShort),
};

describe.each(Object.entries(tokens))('the token of %s', (_, token) => {
  const signature = token.slice(-16);
  const forms = [
    `https://belfry.test/x/${token}`,
    `Click [here](https://belfry.test/x/${token}), please.`,
    encodeURIComponent(`https://belfry.test/x/${token}`),
    `https://acme.test/go?to=https%3a%2f%2fbelfry.test%2fx%2f${token}&more=1`,
    `token: ${token}`,
    `<a href="https://belfry.test/x/${token}">${token}</a>`,
  ];
  test.each(forms)('is not in %s for another viewer, and is for the recipient', text => {
    expect(textFor('other', text as unknown as LiveText)).not.toContain(signature);
    expect(textFor('recipient', text as unknown as LiveText)).toBe(text);
  });
});

test('other text stays as it is', () => {
  const texts = [
    'Order 1.2.3 of 2026-11-18, see https://acme.test/t/12345 and v1.2.3-beta.4.',
    `${delivery.occurrence}.67890 and <${delivery.occurrence}.67890@acme.test>`,
    'https://belfry.test/unsubscribe/preview',
    'https://acme.test/0190a5e2-5b7c-7d3e-8f10-0123456789ab/a-b-c?q=1.2',
    'ada@acme.test, +15555550123, $1 $& $$',
  ];
  for (const text of texts) expect(withoutTokens(text)).toBe(text);
});

test('no text takes longer than the limit', () => {
  const texts = ['a-', 'a.', 'a-a-a.', '1.2.3.', 'a', '-', `${'a'.repeat(43)}.`].map(piece =>
    piece.repeat(templateLimits.output / piece.length),
  );
  for (const text of texts) expect(isTooSlow(costOf(() => withoutTokens(text)))).toBe(false);
});
