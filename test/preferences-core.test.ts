/** Precedence of preferences, against a slow reference that is written straight from the table of precedence. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DecidingChannel, decide, type Recipient } from '../src/core/decide.ts';
import {
  type Category,
  type Choices,
  categoryKinds,
  choiceKey,
  generalCategory,
  type PreferenceSource,
  ruleOn,
  type Topic,
} from '../src/core/preferences.ts';

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
  locales: fc.constant({}),
});
const rows = fc.uniqueArray(
  fc.record({ scope: fc.constantFrom(...scopes), type: fc.constantFrom('', ...types), on: fc.boolean() }),
  { selector: ({ scope, type }) => `${scope} ${type}` },
);
const toChoices = (given: { scope: string; type: string; on: boolean }[]): Choices =>
  Object.fromEntries(
    given.map(({ scope, type, on }) => [
      choiceKey(scope, type),
      { on, source: 'api' as PreferenceSource, at: '2026-01-01T00:00:00Z' },
    ]),
  );

/** Required → event + type · event · category + type · category · everything + type · everything · default · on. */
function reference(
  category: Category,
  event: string,
  type: string,
  given: { scope: string; type: string; on: boolean }[],
) {
  if (category.kind === 'required') return true;
  const find = (scope: string, wanted: string) => given.find(row => row.scope === scope && row.type === wanted)?.on;
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

const channelOf = (type: string): DecidingChannel => ({
  id: 1,
  slug: type,
  type,
  enabled: true,
  reach: 'recipient',
  usable: true,
});
const around = (topic: Topic) => ({
  topic,
  usual: { timezone: null, quiet_hours: null },
  isUrgent: false,
  now: 0,
});
const personWith = (choices: Choices | null): Recipient => ({
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
  test('decide agrees with the table, whatever was chosen', () => {
    fc.assert(
      fc.property(
        categories,
        fc.constantFrom('shop/web/sale', 'shop/web/paid'),
        fc.constantFrom(...types),
        rows,
        (category, event, type, given) => {
          const wanted = reference(category, event, type, given);
          const [decision] = decide(channelOf(type), personWith(toChoices(given)), {}, around({ category, event }));
          expect(decision?.reason).toBe(wanted ? undefined : 'preference.off');
          expect(ruleOn({ category, event }, type, toChoices(given)).enabled).toBe(wanted);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('the row that is named is the one that decides: turned round, it turns the answer', () => {
    fc.assert(
      fc.property(categories, fc.constantFrom(...types), rows, (category, type, given) => {
        const topic = { category, event: 'shop/web/sale' };
        const { choice, enabled } = ruleOn(topic, type, toChoices(given));
        fc.pre(choice !== undefined);
        const turned = given.map(row =>
          row.scope === choice!.scope && row.type === choice!.channelType ? { ...row, on: !row.on } : row,
        );
        expect(ruleOn(topic, type, toChoices(turned)).enabled).toBe(!enabled);
      }),
      { numRuns: 1_000 },
    );
  });

  test('a broad change never changes what a narrow choice decided', () => {
    fc.assert(
      fc.property(categories, fc.constantFrom(...types), rows, fc.boolean(), (category, type, given, on) => {
        const narrow = [
          ...given.filter(row => row.scope !== 'category:news'),
          { scope: 'category:news', type: '', on },
        ];
        const topic = { category: { ...category, slug: 'news' }, event: undefined };
        const before = ruleOn(topic, type, toChoices(narrow)).enabled;
        const broad = narrow.filter(row => row.scope !== 'everything');
        for (const all of [true, false]) {
          const after = toChoices([...broad, { scope: 'everything', type: '', on: all }]);
          expect(ruleOn(topic, type, after).enabled).toBe(before);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('required always gets through, and the row holds again when it no longer is', () => {
    const off = toChoices([{ scope: 'category:general', type: '', on: false }]);
    const topic = (kind: Category['kind']) => ({ category: { ...generalCategory, kind }, event: 'shop/web/sale' });
    expect(ruleOn(topic('required'), 'email', off)).toEqual({ enabled: true, decidedBy: 'required' });
    expect(ruleOn(topic('transactional'), 'email', off).enabled).toBe(false);
  });

  test('a room is nobody’s own: one reader does not decide for the others', () => {
    const off = personWith(toChoices([{ scope: 'everything', type: '', on: false }]));
    const topic = { category: generalCategory, event: 'shop/web/sale' };
    expect(decide({ ...channelOf('slack'), reach: 'room' }, off, {}, around(topic))[0]?.reason).toBeUndefined();
    expect(decide(channelOf('slack'), off, {}, around(topic))[0]).toMatchObject({
      reason: 'preference.off',
      detail: 'everything, api on 2026-01-01',
    });
  });
});
