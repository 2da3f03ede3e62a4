/** Precedence of preferences, compared with a slow reference that follows the documented table. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Category, categoryKinds } from '../../src/core/configuration/nouns/category.ts';
import { type DecisionChannel, decide, type Recipient } from '../../src/core/decision/decide.ts';
import {
  type Choices,
  choiceKey,
  generalCategory,
  type PreferenceSource,
  resolvePreference,
  type Topic,
} from '../../src/core/decision/preferences.ts';

const types = ['email', 'sms', 'inbox'];
const scopes = ['everything', 'category:news', 'category:orders', 'event:shop/web/sale', 'event:shop/web/paid'];

const categories: fc.Arbitrary<Category> = fc.record({
  slug: fc.constantFrom('news', 'orders'),
  name: fc.constant('News'),
  description: fc.constant(''),
  kind: fc.constantFrom(...categoryKinds),
  default: fc.boolean(),
  channel_defaults: fc.dictionary(fc.constantFrom(...types), fc.boolean()),
  channels: fc.constant(null),
  quiet_hours: fc.constant('respect' as const),
  track: fc.boolean(),
  locales: fc.constant({}),
});
const rows = fc.uniqueArray(
  fc.record({ scope: fc.constantFrom(...scopes), type: fc.constantFrom('', ...types), on: fc.boolean() }),
  { selector: ({ scope, type }) => `${scope} ${type}` },
);
const toChoices = (choices: { scope: string; type: string; on: boolean }[]): Choices =>
  Object.fromEntries(
    choices.map(({ scope, type, on }) => [
      choiceKey(scope, type),
      { on, source: 'api' as PreferenceSource, at: '2026-01-01T00:00:00Z' },
    ]),
  );

/** Required → event + type · event · category + type · category · everything + type · everything · default · on. */
function reference(
  category: Category,
  event: string,
  type: string,
  choices: { scope: string; type: string; on: boolean }[],
) {
  if (category.kind === 'required') return true;
  const find = (scope: string, channel: string) => choices.find(row => row.scope === scope && row.type === channel)?.on;
  const steps = [
    find(`event:${event}`, type),
    find(`event:${event}`, ''),
    find(`category:${category.slug}`, type),
    find(`category:${category.slug}`, ''),
    find('everything', type),
    find('everything', ''),
    Object.entries(category.channel_defaults).find(([name]) => name === type)?.[1],
    category.default,
  ];
  return steps.find(step => step !== undefined) ?? true;
}

const channelOf = (type: string): DecisionChannel => ({
  id: 1,
  slug: type,
  type,
  enabled: true,
  reach: 'recipient',
  usable: true,
});
const circumstancesOf = (topic: Topic) => ({
  topic,
  defaults: { timezone: null, quiet_hours: null },
  isUrgent: false,
  now: 0,
});
const recipientWith = (choices: Choices | null): Recipient => ({
  user_id: 1,
  username: 'jane@acme.test',
  email: 'jane@acme.test',
  locked: false,
  addresses: [],
  choices,
  timezone: null,
  quiet_hours: null,
});

describe('precedence', () => {
  test('of any choices is the same in decide as in the table', () => {
    fc.assert(
      fc.property(
        categories,
        fc.constantFrom('shop/web/sale', 'shop/web/paid'),
        fc.constantFrom(...types),
        rows,
        (category, event, type, choices) => {
          const expected = reference(category, event, type, choices);
          const [decision] = decide(
            channelOf(type),
            recipientWith(toChoices(choices)),
            {},
            circumstancesOf({ category, event }),
          );
          expect(decision?.reason).toBe(expected ? undefined : 'preference.off');
          expect(resolvePreference({ category, event }, type, toChoices(choices)).enabled).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('names the choice that decides: inverting it inverts the result', () => {
    fc.assert(
      fc.property(categories, fc.constantFrom(...types), rows, (category, type, choices) => {
        const topic = { category, event: 'shop/web/sale' };
        const { choice, enabled } = resolvePreference(topic, type, toChoices(choices));
        fc.pre(choice !== undefined);
        const inverted = choices.map(row =>
          row.scope === choice!.scope && row.type === choice!.channelType ? { ...row, on: !row.on } : row,
        );
        expect(resolvePreference(topic, type, toChoices(inverted)).enabled).toBe(!enabled);
      }),
      { numRuns: 1_000 },
    );
  });

  test('protects a specific choice from a change of a broader one', () => {
    fc.assert(
      fc.property(categories, fc.constantFrom(...types), rows, fc.boolean(), (category, type, choices, on) => {
        const narrow = [
          ...choices.filter(row => row.scope !== 'category:news'),
          { scope: 'category:news', type: '', on },
        ];
        const topic = { category: { ...category, slug: 'news' }, event: undefined };
        const before = resolvePreference(topic, type, toChoices(narrow)).enabled;
        const broad = narrow.filter(row => row.scope !== 'everything');
        for (const all of [true, false]) {
          const after = toChoices([...broad, { scope: 'everything', type: '', on: all }]);
          expect(resolvePreference(topic, type, after).enabled).toBe(before);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('ignores choices for a required category, and applies them again when it is no longer required', () => {
    const off = toChoices([{ scope: 'category:general', type: '', on: false }]);
    const topic = (kind: Category['kind']) => ({ category: { ...generalCategory, kind }, event: 'shop/web/sale' });
    expect(resolvePreference(topic('required'), 'email', off)).toEqual({ enabled: true, decidedBy: 'required' });
    expect(resolvePreference(topic('transactional'), 'email', off).enabled).toBe(false);
  });

  test('does not apply to rooms, where one reader must not decide for the others', () => {
    const off = recipientWith(toChoices([{ scope: 'everything', type: '', on: false }]));
    const topic = { category: generalCategory, event: 'shop/web/sale' };
    expect(
      decide({ ...channelOf('slack'), reach: 'room' }, off, {}, circumstancesOf(topic))[0]?.reason,
    ).toBeUndefined();
    expect(decide(channelOf('slack'), off, {}, circumstancesOf(topic))[0]).toMatchObject({
      reason: 'preference.off',
      detail: 'everything, api on 2026-01-01',
    });
  });
});
