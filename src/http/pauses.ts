import { Type } from 'typebox';
import * as pauses from '../services/pauses.ts';
import { plain } from './route.ts';
import { moment } from './schemas.ts';

export const pauseFields = {
  kind: Type.Enum(['service', 'channel', 'application', 'event'], {
    description:
      '`service`: nothing is sent for anybody, because the database may be a copy of another one. Its operator resumes it ' +
      'with `belfry resume`.',
  }),
  path: Type.String({ description: 'Slugs: shop/web/order-paid. Empty for `service`.' }),
  since: moment,
  waiting: Type.Object(
    {
      messages: Type.Integer({ description: 'Messages that are sent when it is resumed.' }),
      occurrences: Type.Integer({ description: 'Triggers whose recipients are looked up when it is resumed.' }),
      capped: Type.Boolean({ description: `Whether there may be more: each is counted up to ${pauses.mostHeld}.` }),
    },
    { description: 'What waits because of it.' },
  ),
};

const Pause = Type.Object(pauseFields, { $id: 'Pause' });

export function showPause(pause: pauses.Pause) {
  return { ...pause, since: pause.since.toISOString() };
}

export const listPauses = plain(['org'], {
  id: 'listPauses',
  summary: 'List pauses',
  description: 'What is paused, and how much waits because of it; the longest paused first.',
  tag: 'Occurrences',
  status: 200,
  answer: Type.Array(Pause),
  handle: async ({ deps, organization }) => (await pauses.listPauses(deps, organization.id)).map(showPause),
});

export const listOccurrencePauses = plain(['org', 'identifier'], {
  id: 'listOccurrencePauses',
  summary: 'List pauses of an occurrence',
  description: 'What is paused and keeps this occurrence from going on. Counts are of all that waits for the same.',
  tag: 'Occurrences',
  status: 200,
  answer: Type.Array(Type.Omit(Pause, [])),
  handle: async ({ deps, organization, occurrence }) =>
    (await pauses.listPausesOfOccurrence(deps, organization.id, occurrence.identifier)).map(showPause),
});
