/** The designer's sentences about how often a notification is sent. */
import { expect, test } from 'vitest';
import { explainPeriod, explainSending } from '../console/src/designer/explain-sending.ts';

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
  [{ most: 3, per: '1h', key: 'order' }, ['At most 3 an hour per order for each person; the rest is dropped.']],
  [{ most: '2', per: '7d', key: ' ' }, ['At most 2 in 7 days for each person; the rest is dropped.']],
  [{ most: '', per: '1h', key: '' }, []],
  [{ most: 0, per: '1h', key: '' }, []],
  [{ most: 3, per: 'soon', key: '' }, []],
])('%j is explained, or not yet', (throttle, sentences) => expect(explainSending({ throttle })).toEqual(sentences));
