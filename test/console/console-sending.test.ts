/** The designer's explanations of throttles and digests. */
import { expect, test } from 'vitest';
import {
  type Digest,
  explainPeriod,
  explainSending,
  type Throttle,
} from '../../console/src/designer/explain-sending.ts';

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
])('the period %j is explained as %j', (per, text) => expect(explainPeriod(per)).toBe(text));

test.each([
  [null, []],
  [
    { max: 3, per: '1h', key: 'order', overflow: 'drop' },
    ['At most 3 an hour per order for each recipient; the rest is dropped.'],
  ],
  [
    { max: '2', per: '7d', key: ' ', overflow: 'drop' },
    ['At most 2 in 7 days for each recipient; the rest is dropped.'],
  ],
  [
    { max: 1, per: '1d', key: '', overflow: 'digest' },
    ['At most 1 a day for each recipient; the rest is sent as one digest.'],
  ],
  [{ max: '', per: '1h', key: '', overflow: 'drop' }, []],
  [{ max: 0, per: '1h', key: '', overflow: 'drop' }, []],
  [{ max: 3, per: 'soon', key: '', overflow: 'drop' }, []],
] as [Throttle | null, string[]][])('the throttle %j is explained once it is complete', (throttle, sentences) =>
  expect(explainSending({ throttle, digest: null })).toEqual(sentences),
);

test.each([
  [
    { every: '1h', key: '', sendsFirst: false, max: '' },
    'Collects messages for an hour, then sends each recipient one digest.',
  ],
  [
    { every: '30m', key: 'server', sendsFirst: false, max: 5 },
    'Collects messages for 30 minutes per server, then sends each recipient one digest.',
  ],
  [
    { every: '5 9 * * *', key: '', sendsFirst: false, max: '' },
    'Collects messages until 09:05 in the recipient’s time zone, then sends each recipient one digest.',
  ],
  [
    { every: '0 8 * * 1-5', key: '', sendsFirst: true, max: '' },
    'Sends the first message immediately, collects the following ones until the next “0 8 * * 1-5” in the recipient’s ' +
      'time zone, then sends each recipient one digest.',
  ],
  [{ every: 'soon', key: '', sendsFirst: false, max: '' }, undefined],
] as [Digest, string | undefined][])('the digest %j is explained once it is complete', (digest, sentence) =>
  expect(explainSending({ throttle: null, digest })).toEqual(sentence === undefined ? [] : [sentence]),
);
