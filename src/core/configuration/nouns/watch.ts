import { Type } from 'typebox';
import { webhookUrl } from '../webhooks.ts';
import { declareNoun, type FieldsOf, withDefault } from './noun.ts';
import { Slug } from './schemas.ts';

/** Watches of an application: each rehearses its event as often as once a minute. */
export const maxWatches = 5;

export const watch = declareNoun({
  name: 'watch',
  description:
    'Rehearses an event through the whole engine, and calls an outside URL only after that has worked: its silence means that Belfry does not work.',
  key: 'slug',
  max: maxWatches,
  fixed: { slug: 'the stored URL belongs to it; create another one and delete this one' },
  fields: {
    slug: Slug,
    event: Type.String({
      ...Slug,
      description:
        'Slug of the event of the application that is rehearsed. Only its channels whose provider is `sandbox` are used, so that it wakes no one.',
    }),
    every: withDefault(
      '1m',
      Type.String({
        pattern: '^([1-9]|[1-5][0-9]|60)m$|^1h$',
        patternHint: 'must be a duration from 1m to 1h, such as 1m',
        description: 'How often. A rehearsal that takes longer than this has failed.',
      }),
    ),
    enabled: withDefault(true, Type.Boolean()),
  },
  more: {
    url: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        maxLength: webhookUrl.maxLength,
        // Empty, or as the URL of a webhook.
        pattern: `^$|${webhookUrl.pattern}`,
        patternHint: webhookUrl.patternHint,
        description:
          'Called with GET after each rehearsal that worked, such as the ping URL of a monitoring service outside. It is stored encrypted ' +
          'and never shown. Absent: the stored one is kept. Empty: there is none, and only the console and the metrics show how it goes.',
      }),
    ),
  },
});
export type WatchFields = FieldsOf<typeof watch>;
