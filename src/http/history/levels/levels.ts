import { Type } from 'typebox';
import { watchStates } from '../../../core/history/service-levels.ts';
import { optionalInteger } from '../../../core/optional.ts';
import { readServiceLevels } from '../../../services/history/levels/levels.ts';
import { listWatches } from '../../../services/history/levels/watches.ts';
import { endpoints } from '../../server/route.ts';
import { nullable, time } from '../../server/schemas.ts';

const { plain } = endpoints('Service levels');

const level = {
  target: Type.String({ description: 'The share that is to be kept, such as 99.9%.' }),
  total: Type.Integer({ description: 'What counts for the level.' }),
  missed: Type.Integer(),
  share: nullable(Type.Number(), 'What was kept, from 0 to 1; null: nothing was counted.'),
  is_met: Type.Boolean(),
  budget_left: nullable(
    Type.Number(),
    'Error budget: the part of the misses that the target allows which is left, from 0 to 1; null: nothing was counted.',
  ),
};

const ServiceLevels = Type.Object(
  {
    taken_in: Type.Object(
      {
        ...level,
        refused: Type.Integer({ description: 'Calls that were refused for their content. They do not count.' }),
      },
      {
        description:
          'Calls of senders that were answered with success, of those that were, or failed for a reason of Belfry’s own.',
      },
    ),
    first_page: Type.Object(
      { ...level, within: Type.String({ description: 'How soon, such as 10s.' }) },
      {
        description:
          'Urgent occurrences whose first message was accepted by a provider in time, of those that were to notify someone. Holds, pauses, ' +
          'silences and planned delays do not count. Rehearsals do not count either.',
      },
    ),
    days: Type.Array(
      Type.Object({
        day: Type.String({ format: 'date', description: 'In UTC.' }),
        taken: Type.Integer(),
        failed: Type.Integer(),
        refused: Type.Integer(),
        pages_in_time: Type.Integer(),
        pages_late: Type.Integer(),
      }),
      { description: 'Oldest first, without gaps; the last one is today.' },
    ),
    watches: Type.Array(
      Type.Object({
        project: Type.String(),
        application: Type.String(),
        slug: Type.String(),
        event: Type.String(),
        every: Type.String(),
        state: Type.Enum([...watchStates], {
          description:
            'ok: the last rehearsal was delivered in time, and the URL answered. failing: not so. silent: none was delivered for two ' +
            'intervals, for whatever reason. new: none was delivered yet. off: disabled.',
        }),
        pings: Type.Boolean({ description: 'Whether it calls a URL.' }),
        delivered_at: nullable(time(), 'When the last rehearsal was delivered.'),
        pinged_at: nullable(time(), 'When the URL last answered with success.'),
        failing_since: nullable(time()),
        error: nullable(Type.String(), 'Why the last rehearsal, or the call of the URL, failed.'),
      }),
      { description: 'Rehearsals that call an outside URL.' },
    ),
  },
  { $id: 'ServiceLevels' },
);

export const retrieveServiceLevels = plain(['org'], {
  id: 'retrieveServiceLevels',
  summary: 'Retrieve service levels',
  description: 'How well Belfry itself does for this organization. Calls of the last seconds may be missing.',
  query: Type.Object({
    days: optionalInteger({ minimum: 1, maximum: 90, default: 30, description: 'Number of days, up to today in UTC.' }),
  }),
  answer: ServiceLevels,
  handle: async ({ deps, organization, query: { days = 30 } }) => ({
    ...(await readServiceLevels(deps, organization.id, days)),
    watches: await listWatches(deps, organization.id),
  }),
});
