import { Type } from 'typebox';
import { defaultGrace, heartbeatLimits } from '../../heartbeats/rhythm.ts';
import { severities } from '../../sources/alert.ts';
import { sourceToken } from '../../sources/token.ts';
import { declareNoun, type FieldsOf, nameOrSlug, withDefault, withName } from './noun.ts';
import { Data, Slug } from './schemas.ts';

export const heartbeat = declareNoun({
  name: 'heartbeat',
  description: 'Expects regular calls, such as from a cron job, and triggers an event when one is missing.',
  key: 'slug',
  max: heartbeatLimits.heartbeats,
  fixed: { slug: 'it is part of the address that jobs call; create another one and delete this one' },
  fields: {
    slug: Slug,
    name: nameOrSlug,
    every: Type.String({
      minLength: 1,
      maxLength: heartbeatLimits.every,
      description:
        'When calls are expected: after a duration since the last one, such as 10m or 1d, or at the times of a cron expression such as ' +
        '`0 3 * * *`.',
    }),
    timezone: withDefault(
      'UTC',
      Type.String({ maxLength: 100, description: 'Time zone of the cron expression, such as Europe/Berlin.' }),
    ),
    grace: withDefault(
      defaultGrace,
      Type.String({
        maxLength: 12,
        description: 'How late a call may be, and how long a run may take, such as 10m.',
      }),
    ),
    event: Type.String({ ...Slug, description: 'Slug of the event of the application that a missing call triggers.' }),
    severity: Type.Optional(
      Type.Enum([...severities], { description: 'The severity that conditions and templates see.' }),
    ),
    context: Type.Optional(Data),
    enabled: withDefault(true, Type.Boolean({ description: 'False: it is paused, and never missing.' })),
  },
  normalize: withName,
  more: {
    token: Type.Optional(
      Type.String({
        ...sourceToken,
        description:
          'The secret part of the address, such as the UUID of a check of Healthchecks. Absent: the stored one is kept, and one is ' +
          'generated for a new heartbeat.',
      }),
    ),
  },
});
export type HeartbeatFields = FieldsOf<typeof heartbeat>;
