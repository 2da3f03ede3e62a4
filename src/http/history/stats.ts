import { Type } from 'typebox';
import { endedStatuses } from '../../core/history/statuses.ts';
import { optionalInteger } from '../../core/optional.ts';
import { describeEvents, maxEventsShown, shownHours } from '../../services/history/stats/event-stats.ts';
import { describeOrganization, maxDisabled, maxPending, maxUnresolved } from '../../services/history/stats/stats.ts';
import { endpoints } from '../server/route.ts';
import { nullable, time, timestamp } from '../server/schemas.ts';
import { pauseFields } from './pauses.ts';

const { plain } = endpoints('Statistics');

const byStatus = Type.Object(Object.fromEntries(endedStatuses.map(status => [status, Type.Integer()])), {
  description: 'Deliveries that ended in this period.',
});
const maybeMs = Type.Union([Type.Integer(), Type.Null()]);

const Statistics = Type.Object(
  {
    hours: Type.Array(
      Type.Object({
        hour: time('Start of the hour.'),
        triggers: Type.Integer({ description: 'Triggers accepted in this hour.' }),
        by_status: byStatus,
      }),
      { description: 'Oldest first, without gaps; the last one is the current hour.' },
    ),
    recent: Type.Array(
      Type.Object({
        at: time('Start of the five minutes.'),
        triggers: Type.Integer(),
        by_status: byStatus,
      }),
      {
        description:
          'The same in steps of five minutes, if everything in the period happened in the current hour and the previous one; else empty.',
      },
    ),
    channels: Type.Array(
      Type.Object({
        channel: Type.String({ description: 'Slug.' }),
        project: nullable(Type.String(), 'Slug; null for a channel of the organization.'),
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
      { description: 'The 20 events with the most triggers.' },
    ),
    latency: Type.Object(
      { p50_ms: maybeMs, p95_ms: maybeMs, p99_ms: maybeMs },
      {
        description:
          'Time from when a message was due until the provider accepted it, including retries and rate limits; null when ' +
          'nothing was sent. Pauses, quiet hours, digests, schedules and the delays of steps do not count, and a replayed ' +
          'message counts from the replay.',
      },
    ),
    queue: Type.Object({
      pending: Type.Integer({
        description: `Messages waiting to be sent, and triggers that are due. Counting stops at ${maxPending}.`,
      }),
      due: Type.Integer({ description: 'Messages and triggers that are due now.' }),
      scheduled: Type.Integer({ description: 'Messages and triggers that are due later.' }),
      held: Type.Integer({ description: 'Messages and triggers held by a pause.' }),
      capped: Type.Boolean({ description: 'Whether one of the counts reached its limit.' }),
      oldest_seconds: nullable(Type.Integer(), 'How long the oldest of them has been due; null when nothing is due.'),
    }),
    attention: Type.Object({
      failed: Type.Integer({ description: 'Failed deliveries in this period.' }),
      unknown: Type.Integer({ description: 'Deliveries with an unknown outcome in this period.' }),
      disabled_addresses: Type.Integer({ description: `Disabled addresses. Counting stops at ${maxDisabled}.` }),
      disabled_webhooks: Type.Integer({ description: 'Webhooks that Belfry disabled because they failed.' }),
      unresolved: Type.Object(
        { failed: Type.Integer(), unknown: Type.Integer(), capped: Type.Boolean() },
        {
          description:
            'Deliveries that *List failures* returns now, whenever they failed. Counting stops at ' +
            `${maxUnresolved}, and \`capped\` is then true.`,
        },
      ),
      paused: Type.Array(Type.Object(pauseFields)),
    }),
  },
  { $id: 'Statistics' },
);

export const retrieveStatistics = plain(['org'], {
  id: 'retrieveStatistics',
  readsReplica: true,
  summary: 'Retrieve statistics',
  description: 'Read from maintained counters, so this is fast for any volume.',
  query: Type.Object({
    hours: optionalInteger({
      minimum: 1,
      maximum: 2160,
      default: 24,
      description: 'Number of hours, up to the current one.',
    }),
  }),
  answer: Statistics,
  handle: ({ deps, organization, query: { hours = 24 } }) => describeOrganization(deps, organization.id, hours),
});

const EventStatistics = Type.Object(
  {
    event: Type.String({ description: 'Slug.' }),
    triggers: Type.Array(Type.Integer(), {
      description: `Triggers in each of the last ${shownHours} hours, oldest first; the last one is the current hour.`,
    }),
    failures: Type.Integer({ description: 'Deliveries that failed in these hours.' }),
    unknown: Type.Integer({ description: 'Deliveries that may have arrived, in these hours.' }),
    last_triggered_at: nullable(
      timestamp,
      'When it was last triggered: the beginning of that hour, or of that day (UTC) if it is longer ago. Null: never.',
    ),
  },
  { $id: 'EventStatistics' },
);

export const listEventStatistics = plain(['org', 'prj', 'app'], {
  id: 'listEventStatistics',
  readsReplica: true,
  summary: 'List event statistics',
  description: `Read from maintained counters, so this is fast for any volume. At most ${maxEventsShown} events.`,
  answer: Type.Array(EventStatistics),
  handle: ({ deps, organization, application }) => describeEvents(deps, organization.id, application.id),
});
