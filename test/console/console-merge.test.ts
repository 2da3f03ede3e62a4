/** What a conflict shows and what overwriting saves: console/src/editor/merge.ts. */
import { expect, test } from 'vitest';
import { listKept, listReplaced, rebase } from '../../console/src/editor/merge.ts';

const base = { name: 'receipt', channels: ['mail'], message: { subject: 'Paid', body: 'Thanks' }, priority: 'normal' };
const mine = { ...base, name: 'invoice', message: { subject: 'Paid!', body: 'Thanks' } };
const theirs = { ...base, message: { subject: 'Settled', body: 'Thank you' }, channels: ['mail', 'sms'] };

test('a draft on top of another version keeps its own edits and takes over the other fields', () => {
  expect(rebase(base, mine, theirs)).toEqual({ ...mine, channels: ['mail', 'sms'] });
});

test('a conflict lists what overwriting replaces, and what only the other person changed', () => {
  expect(listReplaced(theirs, rebase(base, mine, theirs))).toEqual([
    { name: 'name', theirs: 'receipt', mine: 'invoice' },
    { name: 'message.subject', theirs: 'Settled', mine: 'Paid!' },
    { name: 'message.body', theirs: 'Thank you', mine: 'Thanks' },
  ]);
  expect(listKept(base, mine, theirs)).toEqual(['channels']);
});

test('two people who saved the same values have no conflict', () => {
  expect(listReplaced(mine, rebase(base, mine, mine))).toEqual([]);
  expect(listKept(base, mine, mine)).toEqual([]);
});
