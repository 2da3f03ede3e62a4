/** The designer's sentences about how often a notification is sent. */
import { expect, test } from 'vitest';
import { type Digest, explainPeriod, explainSending, type Throttle } from '../console/src/designer/explain-sending.ts';

test.each([
  ['1s', 'a second'],
  ['1m', 'a minute'],
  ['1h', 'an hour'],
  ['1d', 'a day'],
  ['30m', 'in 30 minutes'],
  [' 7d ', 'in 7 days'],
  ['', undefined],
  ['0h', undefined],
  ['1w', undefined],
  ['soon', undefined],
])('%j is %j', (per, words) => expect(explainPeriod(per)).toBe(words));

test.each([
  [null, []],
  [
    { most: 3, per: '1h', key: 'order', overflow: 'drop' },
    ['At most 3 an hour per order for each person; the rest is dropped.'],
  ],
  [{ most: '2', per: '7d', key: ' ', overflow: 'drop' }, ['At most 2 in 7 days for each person; the rest is dropped.']],
  [
    { most: 1, per: '1d', key: '', overflow: 'digest' },
    ['At most 1 a day for each person; the rest comes as one digest.'],
  ],
  [{ most: '', per: '1h', key: '', overflow: 'drop' }, []],
  [{ most: 0, per: '1h', key: '', overflow: 'drop' }, []],
  [{ most: 3, per: 'soon', key: '', overflow: 'drop' }, []],
] as [Throttle | null, string[]][])('%j is explained, or not yet', (throttle, sentences) =>
  expect(explainSending({ throttle, digest: null })).toEqual(sentences),
);

test.each([
  [
    { every: '1h', key: '', sendsFirst: false, most: '' },
    'Gathers for an hour, then goes to each person as one message.',
  ],
  [
    { every: '30m', key: 'server', sendsFirst: false, most: 5 },
    'Gathers for 30 minutes per server, then goes to each person as one message.',
  ],
  [
    { every: '5 9 * * *', key: '', sendsFirst: false, most: '' },
    'Gathers until 09:05 in the recipient’s time zone, then goes to each person as one message.',
  ],
  [
    { every: '0 8 * * 1-5', key: '', sendsFirst: true, most: '' },
    'The first one is sent at once; what follows gathers until “0 8 * * 1-5” on the recipient’s clock and goes to each ' +
      'person as one message.',
  ],
  [{ every: 'soon', key: '', sendsFirst: false, most: '' }, undefined],
] as [Digest, string | undefined][])('the digest %j is explained, or not yet', (digest, sentence) =>
  expect(explainSending({ throttle: null, digest })).toEqual(sentence === undefined ? [] : [sentence]),
);
