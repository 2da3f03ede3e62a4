import { Type } from 'typebox';
import * as pauses from '../../services/history/pauses.ts';
import { endpoints } from '../server/route.ts';
import { nullable, timestamp } from '../server/schemas.ts';

const { plain } = endpoints('Occurrences');

export const pauseFields = {
  kind: Type.Enum(['service', 'organization', 'project', 'application', 'event', 'channel', 'key'], {
    description:
      '`service`: the whole instance is paused, because its database may be a copy of another one. The operator resumes it ' +
      'with `belfry resume`.',
  }),
  path: Type.String({
    description: 'Slugs, such as `shop/web/order-paid`; the name of a key. Empty for `service` and `organization`.',
  }),
  id: Type.Union([Type.String(), Type.Null()], { description: 'Id of the key that is paused; else null.' }),
  since: timestamp,
  scope: Type.Enum(['all', 'bulk', 'not_urgent'], {
    description:
      '`bulk`: only bulk messages are held, because the reputation guard of the channel paused them. `not_urgent`: the rate ' +
      'guard holds everything that is not urgent.',
  }),
  reason: nullable(Type.String(), 'What the person who paused it gave as the reason, or why a guard did.'),
  cause: nullable(
    Type.Enum(['guard.rate']),
    '`guard.rate`: the rate guard paused it, because it triggered far more often than ever. Null: not so.',
  ),
  waiting: Type.Object(
    {
      messages: Type.Integer({ description: 'Messages that will be sent on resume.' }),
      occurrences: Type.Integer({ description: 'Occurrences that will be expanded on resume.' }),
      capped: Type.Boolean({ description: `Whether there may be more: each count stops at ${pauses.maxHeld}.` }),
    },
    { description: 'What is held by the pause.' },
  ),
};

const Pause = Type.Object(pauseFields, { $id: 'Pause' });

export const listPauses = plain(['org'], {
  id: 'listPauses',
  summary: 'List pauses',
  description: 'What is paused, and how much is held because of it; longest pause first.',
  answer: Type.Array(Pause),
  handle: ({ deps, organization }) => pauses.listPauses(deps, organization.id),
});

export const listOccurrencePauses = plain(['org', 'identifier'], {
  id: 'listOccurrencePauses',
  summary: 'List occurrence pauses',
  description: 'The pauses that hold this occurrence. Counts include everything held by the same pause.',
  answer: Type.Array(Type.Omit(Pause, [])),
  handle: ({ deps, organization, occurrence }) =>
    pauses.listPausesOfOccurrence(deps, organization.id, occurrence.identifier),
});
