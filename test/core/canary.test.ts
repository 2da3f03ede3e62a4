/** The rules of a canary: settings, samples and the decision about them. */
import { expect, test } from 'vitest';
import {
  type CanaryState,
  canaryRule,
  countRanks,
  describeFigures,
  drawSample,
  findCanaryMistakes,
  judge,
  rankOf,
  type SampleCounts,
  type Sampled,
  variantFor,
} from '../../src/core/decision/guards/canary.ts';
import { contentOfVariant, judgeVariants, type VariantCounts } from '../../src/core/decision/guards/variants.ts';

const rule = canaryRule({ first: 100 });
const begun: Sampled = { ...rule, name: 'n', audience: 0, ranks: [], upTo: null };

test('settings that are left out have defaults', () => {
  const stopAt = { failed: 0.05, bounced: 0.02, complained: 0.003 };
  expect(canaryRule({})).toEqual({ first: 200, waitMs: 600_000, stopAt });
  expect(canaryRule({ wait: '2h', stop_at: { bounced: '0.5%' } })).toMatchObject({
    waitMs: 7_200_000,
    stopAt: { ...stopAt, bounced: 0.005 },
  });
});

test('mistakes that a schema cannot express are found', () => {
  expect(findCanaryMistakes({})).toEqual({});
  expect(findCanaryMistakes({ canary: { wait: '7d' }, throttle: { overflow: 'drop' } })).toEqual({});
  expect(findCanaryMistakes({ canary: { wait: '8d' } })).toEqual({ 'canary/wait': 'must be at most 7d' });
  for (const other of [{ steps: [] }, { digest: {} }, { throttle: { overflow: 'digest' } }, { priority: 'urgent' }]) {
    expect(Object.keys(findCanaryMistakes({ canary: {}, ...other }))).toEqual(['canary']);
  }
});

test('two variants need a sample of two', () => {
  const variants = { winner_by: 'clicks', b: { message: { body: 'b' } } };
  expect(findCanaryMistakes({ canary: { first: 2, variants } })).toEqual({});
  expect(Object.keys(findCanaryMistakes({ canary: { first: 1, variants } }))).toEqual(['canary/first']);
});

test('the sample has exactly as many recipients as it should, whatever the pages', () => {
  const ranks = Array.from({ length: 5_000 }, (_, user) => rankOf('o', 1, user));
  let sampled = begun;
  for (let i = 0; i < ranks.length; i += 700) sampled = countRanks(sampled, ranks.slice(i, i + 700));
  const { upTo, audience } = drawSample(sampled);
  expect(audience).toBe(5_000);
  expect(ranks.filter(rank => rank <= upTo!)).toHaveLength(100);
  expect(drawSample(countRanks(begun, ranks.slice(0, 199))).upTo).toBeNull();
  expect(drawSample(countRanks(begun, ranks.slice(0, 200))).upTo).not.toBeNull();
});

const state: CanaryState = { stage: 'waiting', notifications: { 1: { ...begun, audience: 1_000, upTo: 'f' } } };
const counts: SampleCounts = { messages: 100, attempted: 100, failed: 0, bounced: 0, complained: 0, variants: [] };
const decide = (changed: Partial<SampleCounts>, isLast = false) =>
  judge(state, () => ({ ...counts, ...changed }), isLast);

test('a sample goes on below its limits, stops at them, and waits for attempts', () => {
  expect(decide({}).decision).toBe('go');
  expect(decide({ failed: 4, bounced: 1 }).decision).toBe('go');
  for (const bad of [{ failed: 5 }, { bounced: 2 }, { complained: 1 }]) {
    const { decision, figures } = decide(bad);
    expect([decision, figures[0]!.stopped_by]).toEqual(['stop', Object.keys(bad)]);
  }
  expect(decide({ attempted: 49 }).decision).toBe('wait');
  expect(decide({ attempted: 49 }, true).decision).toBe('stop');
  expect(decide({ messages: 0, attempted: 0 }).decision).toBe('go');
});

test('figures are described in a sentence', () => {
  const { figures } = decide({ failed: 10, bounced: 1 });
  expect(describeFigures(figures)).toEqual([
    'n: the sample had 100 messages; 10 failed (10%; stops at 5%), 1 bounced (1%).',
  ]);
  expect(describeFigures(decide({ attempted: 10 }, true).figures)).toEqual([
    'n: 10 of the 100 messages of the sample were attempted, too few to decide; none failed.',
  ]);
});

test('the sample is split into equal halves, and the others get the winner', () => {
  const compared = canaryRule({ first: 101, variants: { winner_by: 'clicks', b: { message: { body: 'b' } } } });
  const ranks = Array.from({ length: 400 }, (_, user) => rankOf('o', 1, user));
  const drawn = drawSample(countRanks({ ...begun, ...compared }, ranks));
  const sample = ranks.filter(rank => rank <= drawn.upTo!);
  const halves = Map.groupBy(sample, rank => variantFor(drawn, 'sampling', rank));
  expect([...halves].map(([name, own]) => [name, own.length]).sort()).toEqual([
    ['a', 51],
    ['b', 50],
  ]);
  expect(variantFor({ ...drawn, winner: 'b' }, 'rest', ranks[0]!)).toBe('b');
  expect(variantFor(drawSample(countRanks(begun, ranks)), 'sampling', ranks[0]!)).toBeUndefined();
  expect(
    variantFor(drawSample(countRanks({ ...begun, ...compared }, ranks.slice(0, 150))), 'rest', ranks[0]!),
  ).toBeUndefined();
});

test('the variant with the higher share of attempted messages wins, and the first one if the shares are equal', () => {
  const winner = (a: Partial<VariantCounts>, b: Partial<VariantCounts>) =>
    judgeVariants('clicks', [
      { variant: 'a', messages: 50, attempted: 50, clicks: 0, acknowledgements: 0, ...a },
      { variant: 'b', messages: 50, attempted: 50, clicks: 0, acknowledgements: 0, ...b },
    ]).winner;
  expect(winner({ clicks: 3 }, { clicks: 4 })).toBe('b');
  expect(winner({ clicks: 4 }, { clicks: 3 })).toBe('a');
  expect(winner({ clicks: 4 }, { clicks: 3, attempted: 30 })).toBe('b');
  expect(winner({ clicks: 10 }, { clicks: 6, attempted: 30 })).toBe('a');
  expect(winner({}, { acknowledgements: 9 })).toBe('a');
  expect(winner({ attempted: 0 }, { clicks: 1 })).toBe('b');
  expect(judgeVariants('clicks').winner).toBe('a');
});

test('figures name the shares of the variants, and which one the others get', () => {
  const one = {
    ...begun,
    ...canaryRule({ variants: { winner_by: 'acknowledgements', b: { message: { body: 'b' } } } }),
  };
  const compared: CanaryState = { stage: 'waiting', notifications: { 1: { ...one, audience: 1_000, upTo: 'f' } } };
  const variants = [
    { variant: 'a' as const, messages: 50, attempted: 50, clicks: 9, acknowledgements: 2 },
    { variant: 'b' as const, messages: 50, attempted: 50, clicks: 0, acknowledgements: 3 },
  ];
  const { figures } = judge(compared, () => ({ ...counts, variants }), false);
  expect(figures).toMatchObject([{ winner_by: 'acknowledgements', variants, winner: 'b' }]);
  expect(describeFigures(figures)).toEqual([
    'n: the sample had 100 messages; none failed. Acknowledged: 2 of 50 with variant a (4%), 3 of 50 with variant b (6%). The others get variant b.',
  ]);
});

test('the second variant changes only the texts that it has', () => {
  const content = {
    message: { subject: 'A', body: 'a', layout: 'Plain', locales: { de: { subject: 'DE', body: 'de' } } },
    overrides: { sms: { body: 'sms' } },
    variant: {
      message: { subject: 'B', locales: { de: { subject: 'BDE' } } },
      overrides: { sms: { locales: { fr: { body: 'fr' } } }, chat: { body: 'chat' } },
    },
  };
  const { variant: _, ...own } = content;
  expect(contentOfVariant(content, 'a')).toEqual(own);
  expect(contentOfVariant(content, null)).toEqual(own);
  expect(contentOfVariant(own, 'b')).toEqual(own);
  expect(contentOfVariant(content, 'b')).toEqual({
    message: { subject: 'B', body: 'a', layout: 'Plain', locales: { de: { subject: 'BDE', body: 'de' } } },
    overrides: { sms: { body: 'sms', locales: { fr: { body: 'fr' } } }, chat: { body: 'chat' } },
  });
});
