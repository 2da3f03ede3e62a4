import { type Static, Type } from 'typebox';
import { reputationDefaults } from '../../feedback/reputation.ts';
import { Retry } from '../../history/retries.ts';
import { declareNoun, slugAdvice, withDefault } from './noun.ts';
import { media, Name, Slug, unmanaged } from './schemas.ts';

const percent = { minimum: 0.01, maximum: 100 };

export const ProviderEntry = Type.Unsafe<{ use: string; [field: string]: unknown }>(
  Type.Object(
    { use: Type.String({ description: 'Name of the provider. Its settings are further fields of this object.' }) },
    { additionalProperties: true },
  ),
);
export type ProviderEntry = Static<typeof ProviderEntry>;

/** Stored apart from the fields: their settings in one column, their secrets encrypted in another. */
const Providers = Type.Optional(
  Type.Array(ProviderEntry, {
    maxItems: 10,
    description: `Tried in order. A secret that is omitted keeps its stored value; null removes it. ${unmanaged}`,
  }),
);

export const channel = declareNoun({
  name: 'channel',
  key: 'slug',
  fixed: { slug: slugAdvice, type: 'its providers and addresses have that type; create another channel' },
  fields: {
    slug: Slug,
    name: Name,
    type: Type.Enum([...media], { description: 'The medium.' }),
    enabled: withDefault(true, Type.Boolean()),
    on_unknown: withDefault(
      'resend',
      Type.Enum(['resend', 'hold'], {
        description:
          'What to do when the outcome of an attempt is unknown: send the message again, at most once, or hold it.',
      }),
    ),
    rate_per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description: 'Messages per second, across all workers. Absent: no limit.',
      }),
    ),
    concurrency: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000,
        description: 'Messages in flight at a time, across all workers. Absent: no limit.',
      }),
    ),
    retry: Type.Optional(
      Type.Unsafe<Retry>({
        ...Retry,
        description: 'How long messages are retried. Absent: the default of the type.',
      }),
    ),
    // The reputation guard of an email channel: see core/feedback/reputation.ts.
    reputation_guard: withDefault(
      true,
      Type.Boolean({
        description:
          'Pauses bulk messages of an email channel if too many of its messages bounce or are reported as spam.',
      }),
    ),
    max_bounce_percent: withDefault(
      reputationDefaults.max_bounce_percent,
      Type.Number({ ...percent, description: 'Permanent bounces above which the reputation guard pauses.' }),
    ),
    max_complaint_percent: withDefault(
      reputationDefaults.max_complaint_percent,
      Type.Number({ ...percent, description: 'Complaints above which the reputation guard pauses.' }),
    ),
  },
  more: { providers: Providers },
});
