import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { event as noun } from '../../core/configuration/nouns/event.ts';
import { visibleUsers } from '../../core/identity/visible-users.ts';
import type { JsonObject } from '../../core/json.ts';
import { limits } from '../../core/text/text.ts';
import { TriggerBody } from '../../core/trigger.ts';
import * as queries from '../../db/configuration/events.ts';
import * as waitingQueries from '../../db/history/waiting.ts';
import { createEntry, getEntry, updateEntry } from '../../services/configuration/entries.ts';
import { event } from '../../services/configuration/events.ts';
import { simulate } from '../../services/configuration/try-out/simulation.ts';
import * as triggers from '../../services/history/triggers.ts';
import { messageFields } from '../history/messages.ts';
import { requireGuardChange } from '../identity/approver.ts';
import { list, plain, slugsOf } from '../server/route.ts';
import { Event, nullable, Triggered, TriggerHeaders, TriggerQuery, timestamp } from '../server/schemas.ts';
import { entryEndpoints } from './entry-endpoints.ts';
import { pauseFields } from './pauses.ts';

const orNull = { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }] } as const;

const EventDetails = Type.Object(
  {
    ...responseFieldsOf(noun),
    ...pauseFields,
    category: Type.String({ description: 'Slug of the category.' }),
    sample_context: Type.Unsafe<JsonObject | null>({
      ...orNull,
      description: 'Sample context generated from the examples and defaults of the schema. Null: there is no schema.',
    }),
    notifications: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: Type.String(),
        active: Type.Boolean(),
        channels: Type.Array(Type.String(), { description: 'Slugs or types.' }),
      }),
    ),
  },
  { $id: 'EventDetails' },
);

const maybeText = Type.Union([Type.String(), Type.Null()]);

const SimulatedRun = Type.Object({
  number: Type.Integer({ description: 'Number of the run, starting at 1.' }),
  step: Type.Integer({ description: 'Number of the step. A repeated step has several runs.' }),
  at: Type.String({ format: 'date-time', description: 'Earliest time, if no one acknowledges.' }),
  channels: Type.Array(Type.String()),
  recipients: nullable(
    Type.String(),
    "The step's own distribution list, or its schedule as `on call: SLUG`. Null: the notification's recipients.",
  ),
  reason: nullable(
    Type.Enum(['schedule.no_one', 'schedule.fallback']),
    'Set if no one would be on call. Without a fallback list, the next run then follows at once.',
  ),
  unless: maybeText,
  round_robin: Type.Boolean({ description: 'Whether it would notify only the recipient whose turn it is.' }),
  deliveries: Type.Integer({ description: 'Number of messages that would be sent.' }),
  suppressed: Type.Record(Type.String(), Type.Integer(), { description: 'Number of suppressed messages by reason.' }),
});

export const SimulatedDelivery = Type.Object({
  notification: Type.String(),
  channel: Type.String(),
  user: Type.String(),
  address: maybeText,
  reason: nullable(Type.String(), 'Why it would be suppressed or held.'),
  detail: nullable(Type.String(), 'Further detail of the reason.'),
  due_at: nullable(timestamp, 'When it would be sent, if it would be held.'),
  step: nullable(Type.Integer(), 'Number of the run. Null: the notification has no steps.'),
  message: Type.Union([Type.Object(messageFields), Type.Null()]),
  problem: nullable(Type.String(), 'Why the message cannot be rendered.'),
});

const Simulation = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'As if triggered then.' }),
    complete: Type.Boolean({ description: 'Whether all recipients were examined.' }),
    notifications: Type.Array(
      Type.Object({
        name: Type.String(),
        reason: nullable(Type.String(), 'Why it would have no recipients.'),
        deliveries: Type.Integer({ description: 'Number of messages that would be sent.' }),
        suppressed: Type.Record(Type.String(), Type.Integer(), {
          description: 'Number of suppressed messages by reason.',
        }),
        held: Type.Record(Type.String(), Type.Integer(), {
          description: 'Number of messages that would be held before they are sent, by reason.',
        }),
        steps: Type.Union([Type.Array(SimulatedRun), Type.Null()], {
          description: 'The runs of the steps if no one acknowledged. Null: it has no steps.',
        }),
      }),
    ),
    recipients_shown: Type.Boolean({
      description: 'Whether `deliveries` contains recipients and messages, which requires `user:read`.',
    }),
    silence: nullable(
      Type.Object({
        id: Type.String({ format: 'uuid' }),
        reason: Type.String(),
        created_by: Type.String(),
        until: Type.String({ format: 'date-time' }),
        effect: Type.Enum(['held', 'suppressed'], {
          description: '`held`: it would wait for the end of the silence. `suppressed`: nothing would be sent.',
        }),
      }),
      'The silence that matches now. Counts and messages are those without it. Null: none matches.',
    ),
    deliveries: Type.Array(SimulatedDelivery, {
      description: 'The first 50, those that would be sent before suppressed ones.',
    }),
  },
  { $id: 'Simulation' },
);

export const listOrganizationEvents = list(['org'], {
  id: 'listOrganizationEvents',
  summary: 'List events of the organization',
  description: 'The events of all applications, with path and category.',
  tag: 'Events',
  query: Type.Object({
    category: Type.Optional(
      Type.String({ maxLength: limits.slug, description: 'Slug. `general` includes events without a category.' }),
    ),
    include: Type.Optional(Type.Literal('context_schema', { description: 'Additional field to return.' })),
  }),
  item: Type.Object(
    {
      path: Type.String({ description: 'project/application/event' }),
      name: Type.String(),
      active: Type.Boolean(),
      category: Type.String({ description: 'Slug.' }),
      context_schema: Type.Optional(
        Type.Unsafe<JsonObject | null>({
          ...orNull,
          description: 'Only with `include=context_schema`. Null: there is none.',
        }),
      ),
    },
    { $id: 'OrganizationEvent' },
  ),
  list: ({ deps, organization, query }, page) => {
    const filter = { category: query.category, withSchemas: query.include === 'context_schema' };
    return queries.listOrganizationEvents(deps.db, organization.id, filter, page);
  },
});

const Waiting = Type.Object(
  {
    complete: Type.Boolean({
      description: 'False: there were too many waiting messages in the organization to count all.',
    }),
    waiting: Type.Array(
      Type.Object({
        reason: Type.String({ description: 'A stable code, such as `quiet_hours`.' }),
        count: Type.Integer(),
        first_due_at: timestamp,
        last_due_at: timestamp,
      }),
    ),
  },
  { $id: 'Waiting' },
);

export const retrieveWaiting = plain(['org', 'prj', 'app', 'evt'], {
  id: 'retrieveWaiting',
  summary: 'Count waiting messages',
  description:
    'Counts the messages of the event that wait for a known time, by reason, with the first and the last time. Messages ' +
    'held by a pause are not included.',
  tag: 'Events',
  status: 200,
  answer: Waiting,
  handle: ({ deps, organization, event }) => waitingQueries.summarizeWaiting(deps.db, organization.id, event.id),
});

export const triggerEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'triggerEvent',
  summary: 'Trigger event',
  description: 'Responds once the occurrence is durably stored. It is processed afterwards.',
  tag: 'Events',
  status: 201,
  problems: [409],
  body: TriggerBody,
  query: TriggerQuery,
  headers: TriggerHeaders,
  answer: Triggered,
  handle: async ({ deps, caller, body, query, request, organization, project, application, event }) => {
    const occurrence = await triggers.triggerEvent(
      deps,
      { organization, project, application, event },
      {
        context: body.context as JsonObject | undefined,
        options: body.options,
        bytes: request.bodyBytes,
        correlationId: query.cid,
        idempotencyKey: request.headers['idempotency-key'] as string | undefined,
        keyId: caller.kind === 'key' ? caller.id : `account:${caller.id}`,
        traceparent: request.headers.traceparent as string | undefined,
        onTrace: traceId => {
          request.traceId = traceId;
        },
      },
    );
    return { occurrence };
  },
});

const SimulateBody = Type.Object(
  {
    ...TriggerBody.properties,
    at: Type.Optional(
      Type.Unsafe<Date | string>({
        type: 'string',
        format: 'date-time',
        description: 'As if triggered then, such as to see who would be on call. Absent: now.',
      }),
    ),
  },
  { $id: 'Simulate', additionalProperties: false },
);

export const simulateEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'simulateEvent',
  summary: 'Simulate event',
  description:
    'Returns who would get which message, and why others would not. Nothing is stored or sent. Recipients and messages ' +
    'are returned only with the permission `user:read`; counts and reasons always. A key without `user:read` cannot use ' +
    '`limit_to`, and the recipients that it names are treated as new ones. A key that is limited to a project or application ' +
    'sees the users on lists of the project, and counts no others.',
  tag: 'Events',
  status: 200,
  body: SimulateBody,
  answer: Simulation,
  handle: ({ deps, caller, body, organization, project, application, event }) =>
    simulate(
      deps,
      { organization, project, application, event },
      { context: body.context as JsonObject | undefined, options: body.options, at: body.at },
      visibleUsers(caller.grant, { organization, project, application }),
    ),
});

export const entry = entryEndpoints(['org', 'prj', 'app'], 'evt', {
  kind: event,
  tag: 'Events',
  at: 'e',
  answer: EventDetails,
  cascades: true,
  item: Event,
  create: async call => {
    requireGuardChange(call, call.body.guard ?? null, null);
    return createEntry(call.deps, event, slugsOf(call), call.body);
  },
  update: async (call, id, check) => {
    const { guard } = call.body;
    if (guard !== undefined)
      requireGuardChange(call, guard, (await getEntry(call.deps, event, slugsOf(call), id)).guard);
    return updateEntry(call.deps, event, slugsOf(call), id, call.body, check);
  },
});
