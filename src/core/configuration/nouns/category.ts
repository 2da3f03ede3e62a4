import { Type } from 'typebox';
import { normalizeLocale } from '../../text/text.ts';
import { declareNoun, type FieldsOf, slugAdvice, withDefault } from './noun.ts';
import { closed, media, Name, Slug } from './schemas.ts';

export const categoryKinds = ['required', 'transactional', 'promotional'] as const;
export type CategoryKind = (typeof categoryKinds)[number];

const Description = Type.String({ maxLength: 1_000, description: 'Shown to recipients.' });

export const category = declareNoun({
  name: 'category',
  description: 'Groups events for recipients, who choose what they get by category.',
  key: 'slug',
  fixed: { slug: slugAdvice },
  fields: {
    slug: Slug,
    name: Name,
    description: withDefault('', Description),
    kind: withDefault(
      'transactional',
      Type.Enum([...categoryKinds], {
        description:
          'Recipients cannot turn off required, can turn off transactional, and can unsubscribe from promotional with one click.',
      }),
    ),
    default: withDefault(true, Type.Boolean({ description: 'Whether it is on until the recipient chooses.' })),
    channel_defaults: withDefault(
      {},
      Type.Record(Type.String(), Type.Boolean(), {
        description: 'Exceptions to the default by channel type, such as { sms: false }.',
      }),
    ),
    channels: Type.Optional(
      Type.Array(Type.Enum([...media]), {
        minItems: 1,
        maxItems: media.length,
        description: 'Channel types that the recipient can choose from. Absent: all.',
      }),
    ),
    quiet_hours: withDefault(
      'respect',
      Type.Enum(['respect', 'ignore'], {
        description: 'Whether messages wait until quiet hours end. Only required categories can ignore them.',
      }),
    ),
    track: withDefault(
      false,
      Type.Boolean({
        description: 'Whether opens and clicks of emails are recorded. Never for required categories.',
      }),
    ),
    locales: withDefault(
      {},
      Type.Record(
        Type.String(),
        Type.Object({ name: Type.Optional(Name), description: Type.Optional(Description) }, closed),
        { description: 'Name and description in other languages, by language tag.' },
      ),
    ),
  },
  normalize: ({ locales = {} }: { locales?: Record<string, object> }) => ({
    locales: Object.fromEntries(
      Object.entries(locales).map(([locale, text]) => [normalizeLocale(locale) ?? locale, text]),
    ),
  }),
});

/** Groups events for recipients, who choose what they get by category. */
export type Category = FieldsOf<typeof category>;
