import { Type } from 'typebox';
import { endedStatuses } from '../core/statuses.ts';
import { describeOrganization, mostDisabled, mostPending, mostUnresolved } from '../services/stats.ts';
import { pauseFields, showPause } from './pauses.ts';
import { plain } from './route.ts';

const byStatus = Type.Object(Object.fromEntries(endedStatuses.map(status => [status, Type.Integer()])), {
  description: 'Deliveries that ended in these hours.',
});
const maybeMs = Type.Union([Type.Integer(), Type.Null()]);

const Statistics = Type.Object(
  {
    hours: Type.Array(
      Type.Object({
        hour: Type.String({ format: 'date-time', description: 'When it began.' }),
        triggers: Type.Integer({ description: 'Accepted in this hour.' }),
        by_status: byStatus,
      }),
      { description: 'The oldest first, without gaps; the last one is not over yet.' },
    ),
    channels: Type.Array(
      Type.Object({
        channel: Type.String({ description: 'Slug.' }),
        project: Type.Union([Type.String(), Type.Null()], { description: "Slug; null for the organization's own." }),
        type: Type.String(),
        by_status: byStatus,
      }),
    ),
    events: Type.Array(
      Type.Object({
        event: Type.String({ description: 'prj/app/evt' }),
        triggers: Type.Integer(),
        by_status: byStatus,
      }),
      { description: 'The twenty busiest.' },
    ),
    latency: Type.Object(
      { p50_ms: maybeMs, p95_ms: maybeMs, p99_ms: maybeMs },
      { description: 'From being due to being sent; null when nothing was sent.' },
    ),
    queue: Type.Object({
      pending: Type.Integer({
        description: `Messages that wait to be sent, and triggers that are due; counted up to ${mostPending}.`,
      }),
      due: Type.Integer({ description: 'Messages and triggers whose time has come.' }),
      scheduled: Type.Integer({ description: 'Messages and triggers whose time is still to come.' }),
      held: Type.Integer({ description: 'Messages and triggers that wait for a pause to end.' }),
      capped: Type.Boolean({ description: 'Whether there may be more of one of them.' }),
      oldest_seconds: Type.Union([Type.Integer(), Type.Null()], {
        description: 'How long the first of them has been due; null when nothing is.',
      }),
    }),
    attention: Type.Object({
      failed: Type.Integer({ description: 'In these hours.' }),
      unknown: Type.Integer({ description: 'In these hours.' }),
      disabled_addresses: Type.Integer({ description: `Counted up to ${mostDisabled}.` }),
      disabled_webhooks: Type.Integer({ description: 'Webhooks that Belfry disabled because they failed.' }),
      unresolved: Type.Object(
        { failed: Type.Integer(), unknown: Type.Integer(), capped: Type.Boolean() },
        {
          description:
            'Deliveries that *List failures* has now, whenever they failed; counted up to ' +
            `${mostUnresolved}, and then \`capped\`.`,
        },
      ),
      paused: Type.Array(Type.Object(pauseFields)),
    }),
  },
  { $id: 'Statistics' },
);

export const retrieveStatistics = plain(['org'], {
  id: 'retrieveStatistics',
  summary: 'Retrieve statistics',
  description: 'Kept as things happen, so that asking costs the same whatever the amount.',
  tag: 'Statistics',
  status: 200,
  query: Type.Object({
    hours: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2160, default: 24, description: 'How many, up to the present one.' }),
    ),
  }),
  answer: Statistics,
  handle: async ({ deps, organization, query: { hours = 24 } }) => {
    const { attention, ...found } = await describeOrganization(deps, organization.id, hours);
    return {
      ...found,
      hours: found.hours.map(one => ({ ...one, hour: one.hour.toISOString() })),
      attention: {
        ...attention,
        paused: attention.paused.map(showPause),
      },
    };
  },
});
