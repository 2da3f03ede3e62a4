import { Type } from 'typebox';
import { expressionLimits } from '../../expressions/expressions.ts';
import { sourceLimits } from '../../sources/alert.ts';
import { sourcePresetNames } from '../../sources/presets/index.ts';
import { sourceToken } from '../../sources/token.ts';
import { declareNoun, type FieldsOf, nameOrSlug, withDefault, withName } from './noun.ts';
import { Update } from './parts/source-update.ts';
import { closed, Slug } from './schemas.ts';

const expression = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: expressionLimits.source, description }));

const Mapping = Type.Object(
  {
    alerts: expression(
      'The list of alerts in the payload. Absent: the payload is one alert. The others are evaluated for each.',
    ),
    key: expression('What identifies the alert. Required without `use`.'),
    title: expression('The title. Absent: the key.'),
    severity: expression('The severity, by one of its usual names, such as critical or P1.'),
    time: expression('When it began.'),
    context: expression('What conditions, filters and templates see. Absent: the alert itself.'),
    resolve: expression('True if the alert has ended.'),
    acknowledge: expression('True if someone has taken care of it.'),
  },
  {
    ...closed,
    description: 'JMESPath expressions that read the payload; with `use`, the alert as the preset has read it.',
  },
);

const Route = Type.Object(
  {
    when: expression('A condition on the alert, as JMESPath. Absent: always.'),
    event: Type.String({ ...Slug, description: 'Slug of an event of the application.' }),
  },
  closed,
);

export const source = declareNoun({
  name: 'source',
  description: 'An address that a monitoring system posts its alerts to.',
  key: 'slug',
  fixed: { slug: 'it is part of the keys of open alerts; create another one and delete this one' },
  fields: {
    slug: Slug,
    name: nameOrSlug,
    use: Type.Optional(
      Type.Enum([...sourcePresetNames], { description: 'The format of the sender. Absent: `mapping` reads any JSON.' }),
    ),
    mapping: Type.Optional(Mapping),
    routes: Type.Array(Route, {
      minItems: 1,
      maxItems: sourceLimits.routes,
      description: 'The first whose condition is true decides which event an alert triggers.',
    }),
    group_by: withDefault(
      [] as string[],
      Type.Array(Type.String({ minLength: 1, maxLength: expressionLimits.source }), {
        maxItems: sourceLimits.groupBy,
        description:
          'Alerts for which these expressions yield the same become one occurrence, which is resolved when all are.',
      }),
    ),
    update: Type.Optional(Update),
  },
  normalize: withName,
  more: {
    token: Type.Optional(
      Type.String({
        ...sourceToken,
        description:
          'The secret part of the address, and the integration key. Absent: the stored one is kept, and one is generated for a new source.',
      }),
    ),
    secret: Type.Optional(
      Type.String({
        maxLength: 500,
        description:
          'Verifies the sender: the key of its signature (Grafana, GitHub), user:password, a bearer token, or the ARN of the SNS topic. ' +
          'Absent: the stored one is kept. Empty: none.',
      }),
    ),
    update_secret: Type.Optional(
      Type.String({
        maxLength: 500,
        description:
          'Authenticates the requests of `update`: user:password or a bearer token with `use`, otherwise {{ secret }} in its templates. ' +
          'Absent: the stored one is kept. Empty: none. Required when `update` names another server.',
      }),
    ),
  },
});
export type SourceFields = FieldsOf<typeof source>;
