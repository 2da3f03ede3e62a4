/** How phrases are found in the prose of mail servers. */
import { expect, test } from 'vitest';
import { noticeVocabulary } from '../../src/core/feedback/wording/notice-vocabulary.ts';
import { createMatcher } from '../../src/core/feedback/wording/phrases.ts';
import { vocabulary } from '../../src/core/feedback/wording/vocabulary.ts';
import { costOf, isTooSlow } from '../support/cpu-time.ts';
import { shapes } from '../support/hostile-shapes.ts';

const find = (phrase: string, text: string) =>
  createMatcher({ groups: { who: ['user|mail box', '@'] }, topics: { found: [phrase] }, fragments: {} })
    .topicsOf(text, new Set(['news@acme.test']))
    .has('found');

test.each([
  ['mailbox disabled', 'The mailbox has been disabled'],
  ['mailbox disabled', 'MAILBOX-DISABLED'],
  ['mailbox not found', "This mailbox couldn't be found."],
  ['recip not found', 'RESOLVER.ADR.RecipNotFound; see below'],
  ['boite pleine', 'Boîte pleine'],
  ['user unknown', 'user <jane@acme.test> (mx.acme.test[192.0.2.1]) 5.1.1 unknown'],
  ['block* … ip', 'blocked because of your own IP'],
  ['{who} gone', 'jane@acme.test is gone'],
  ['@sender refused', '<news@acme.test>: refused'],
])('"%s" is in: %s', (phrase, text) => {
  expect(find(phrase, text)).toBe(true);
});

test.each([
  ['mailbox disabled', 'The mailbox works. Disabled features: none'],
  ['user unknown', 'host mx.acme.test said to the user: 550 unknown command'],
  ['user … unknown', 'user one two three four five six unknown'],
  ['ip', 'a zipped shipment'],
  ['sender unknown', 'Returned to sender: unknown'],
])('"%s" is not in: %s', (phrase, text) => {
  expect(find(phrase, text)).toBe(false);
});

test.each([
  ['replies', vocabulary],
  ['notices', noticeVocabulary],
])(
  'the vocabulary of %s names only groups that exist, and no phrase consists of a filler',
  { tags: ['sweep'] },
  (_, { groups, topics }) => {
    const phrases = [...Object.values(topics).flat(), ...Object.values(groups).flat()];
    const named = phrases.flatMap(phrase => [...phrase.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!));
    expect(named.filter(name => !(name in groups))).toEqual([]);
    expect(
      Object.values(groups)
        .flat()
        .filter(phrase => /[…{]/.test(phrase)),
    ).toEqual([]);
    for (const phrase of phrases) {
      expect(phrase, phrase).toMatch(/^(?! )(?!.* {2})[^"()?]+(?<! )$/);
      const nothing = createMatcher({ groups, topics: { found: [phrase] }, fragments: {} });
      expect(nothing.topicsOf('This is, as you can see, it. There they are.').size, phrase).toBe(0);
    }
  },
);

test.each(Object.entries(shapes))(
  'finding phrases in %s takes no longer than the limit',
  { tags: ['sweep'] },
  (_, shape) => {
    const matcher = createMatcher(vocabulary);
    const text = shape(1_000_000);
    expect(isTooSlow(costOf(() => matcher.topicsOf(text)))).toBe(false);
  },
);
