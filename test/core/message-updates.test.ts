import { expect, test } from 'vitest';
import { noteFor, updateActionFor, updateRetrySeconds } from '../../src/core/message/message-updates.ts';
import { addNote } from '../../src/core/render/note.ts';

const at = new Date('2026-11-17T10:04:00Z');
const note = (reader: Partial<Parameters<typeof noteFor>[2]>, change = {}, sentAt = at) =>
  noteFor({ change: 'acknowledged', by: 'Jane', at, ...change }, sentAt, {
    locale: null,
    timezone: undefined,
    ...reader,
  });

test('the note is in the language and time zone of the recipient, else in English and UTC', () => {
  expect(note({})).toBe('Acknowledged by Jane, 10:04 UTC');
  expect(note({ locale: 'en-GB', timezone: 'Asia/Kolkata' })).toBe('Acknowledged by Jane, 15:34');
  expect(note({ locale: 'de_AT', timezone: 'Europe/Vienna' })).toBe('Übernommen von Jane, 11:04');
  expect(note({ locale: 'fr' }, { change: 'resolved', by: null })).toBe('Résolu, 10:04 UTC');
  expect(note({ locale: 'ja', timezone: 'No/Where' }, { change: 'cancelled' })).toBe('Cancelled by Jane, 10:04');
  expect(note({ locale: 'de-' })).toBe('Übernommen von Jane, 10:04 UTC');
});

test('the note names the day unless the message was sent on it', () => {
  const before = new Date('2026-11-16T23:30:00Z');
  expect(note({ locale: 'de', timezone: 'Europe/Berlin' }, {}, before)).toBe('Übernommen von Jane, 11:04');
  expect(note({ locale: 'de', timezone: 'UTC' }, {}, before)).toBe('Übernommen von Jane, 17.11.2026, 10:04');
});

test('a name in the note is one short line', () => {
  expect(note({ locale: 'en-GB' }, { by: `a\n\tb {at} ${'x'.repeat(200)}` })).toMatch(
    /^Acknowledged by a b \{at\} x{85,95}, 10:04 UTC$/,
  );
});

test('a note is added to every form of a message, is no markup, and replaces the buttons', () => {
  const actions = [{ name: 'a', label: 'A', url: 'https://x.test' }];
  const blocks = Array.from({ length: 50 }, () => ({ type: 'divider' }));
  const content = { title: 'T', text: 'Hi', markup: '*Hi*', html: '<p>Hi</p>', card: blocks, missing: [], actions };
  const added = addNote(content, 'by <b> *x*', 'slack');
  expect(added).toMatchObject({
    title: 'T',
    text: 'Hi\n\nby <b> *x*',
    html: '<p>Hi</p><p>by &lt;b&gt; *x*</p>',
  });
  expect(added.markup).toMatch(/^\*Hi\*\n\nby &lt;b&gt; \u200b\*\u200bx\u200b\*\u200b$/);
  expect(added.card).toHaveLength(50);
  expect(added).not.toHaveProperty('actions');
  const push = { title: '', text: '{}', data: { title: 'T', body: 'Hi' }, missing: [] };
  expect(addNote(push, 'done', 'push').data).toEqual({ title: 'T', body: 'Hi\n\ndone' });
});

test('a cancellation retracts where that is possible; otherwise messages are updated', () => {
  expect(updateActionFor('acknowledged', ['update', 'retract'])).toBe('update');
  expect(updateActionFor('cancelled', ['update', 'retract'])).toBe('retract');
  expect(updateActionFor('cancelled', ['update'])).toBe('update');
  expect(updateActionFor('resolved', ['retract'])).toBeUndefined();
  expect(updateActionFor('resolved', undefined)).toBeUndefined();
});

test('retries are spread, wait as long as the provider asks for, and end', () => {
  expect([1, 2, 7, 8].map(attempt => updateRetrySeconds(attempt, 1))).toEqual([5, 10, 320, undefined]);
  expect(updateRetrySeconds(1, 0)).toBe(2.5);
  expect(updateRetrySeconds(1, 1, 30)).toBe(30);
});
