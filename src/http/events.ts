import { Type } from 'typebox';
import { EventEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import type { JsonObject } from '../core/json.ts';
import { allows } from '../core/permissions.ts';
import { limits } from '../core/text.ts';
import { TriggerBody } from '../core/trigger.ts';
import * as events from '../services/events.ts';
import { simulate } from '../services/simulation.ts';
import { applicationFields } from './applications.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { messageFields } from './messages.ts';
import { list, pathOf, placeOf, plain, slugsOf } from './route.ts';
import {
  CascadeQuery,
  Deleted,
  deletionOf,
  Event,
  moment,
  Paused,
  Resumed,
  Triggered,
  TriggerHeaders,
  TriggerQuery,
} from './schemas.ts';

const own = ['name', 'active', 'category', 'context_schema'];
const NewEvent = fieldsOf<Parameters<typeof events.createEvent>[2]>('NewEvent', EventEntry, ['slug', ...own]);
const EventChanges = changesOf<events.EventChanges>('EventChanges', EventEntry, own, ['slug']);

const orNull = { anyOf: [{ type: 'object', additionalProperties: true }, { type: 'null' }] } as const;

const EventDetails = Type.Object(
  {
    ...applicationFields,
    active: Type.Boolean({ description: 'False: triggers are refused.' }),
    category: Type.String({ description: 'Slug of the category that recipients know it by.' }),
    context_schema: Type.Unsafe<JsonObject | null>({
      ...orNull,
      description: 'The JSON Schema of the context. Null: any context will do.',
    }),
    sample_context: Type.Unsafe<JsonObject | null>({
      ...orNull,
      description: 'A context made from the examples and defaults of the schema. Null: there is no schema.',
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
  number: Type.Integer({ description: 'Of the run, from 1 on.' }),
  step: Type.Integer({ description: 'Of the step: one that is repeated has several runs.' }),
  at: Type.String({ format: 'date-time', description: 'At the earliest, where it is triggered now.' }),
  channels: Type.Array(Type.String()),
  recipients: Type.Union([Type.String(), Type.Null()], { description: 'A list of its own.' }),
  unless: maybeText,
  deliveries: Type.Integer({ description: 'Messages that would be sent.' }),
  suppressed: Type.Record(Type.String(), Type.Integer(), { description: 'Reason to how many would get none.' }),
});

const Simulation = Type.Object(
  {
    complete: Type.Boolean({ description: 'Whether everybody was looked at.' }),
    notifications: Type.Array(
      Type.Object({
        name: Type.String(),
        reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it would be for nobody.' }),
        deliveries: Type.Integer({ description: 'Messages that would be sent.' }),
        suppressed: Type.Record(Type.String(), Type.Integer(), { description: 'Reason to how many would get none.' }),
        held: Type.Record(Type.String(), Type.Integer(), {
          description: 'Reason to how many of them would wait before they are sent.',
        }),
        steps: Type.Union([Type.Array(SimulatedRun), Type.Null()], {
          description: 'What would happen step by step if nobody answered. Null: it has no steps.',
        }),
      }),
    ),
    recipients_shown: Type.Boolean({
      description: 'Whether `deliveries` tells recipients and messages: that takes `user:read` as well.',
    }),
    deliveries: Type.Array(
      Type.Object({
        notification: Type.String(),
        channel: Type.String(),
        user: Type.String(),
        address: maybeText,
        reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it would not be sent.' }),
        detail: Type.Union([Type.String(), Type.Null()], {
          description: 'What exactly decided, where there is more to say.',
        }),
        due_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          description: 'When it would be sent, where it would wait.',
        }),
        step: Type.Union([Type.Integer(), Type.Null()], { description: 'The run of a step. Null: it has no steps.' }),
        message: Type.Union([Type.Object(messageFields), Type.Null()]),
        problem: Type.Union([Type.String(), Type.Null()], { description: 'Why the message cannot be written.' }),
      }),
      { description: 'The first ones, those that would be sent before the others.' },
    ),
  },
  { $id: 'Simulation' },
);

export const listEvents = list(['org', 'prj', 'app'], {
  id: 'listEvents',
  summary: 'List events',
  tag: 'Events',
  item: Event,
  list: ({ deps, organization, application }, page) => events.listEvents(deps, organization.id, application.id, page),
});

export const listOrganizationEvents = list(['org'], {
  id: 'listOrganizationEvents',
  summary: 'List events of the organization',
  description: 'Those of every application, each with its path and its category.',
  tag: 'Events',
  query: Type.Object({
    category: Type.Optional(
      Type.String({ maxLength: limits.slug, description: 'Slug. `general` has those that name none.' }),
    ),
    include: Type.Optional(Type.Literal('context_schema', { description: 'What each is told with besides.' })),
  }),
  item: Type.Object(
    {
      path: Type.String({ description: 'project/application/event' }),
      name: Type.String(),
      active: Type.Boolean(),
      category: Type.String({ description: 'Slug.' }),
      context_schema: Type.Optional(
        Type.Unsafe<JsonObject | null>({ ...orNull, description: 'Where it is included. Null: there is none.' }),
      ),
    },
    { $id: 'OrganizationEvent' },
  ),
  list: ({ deps, organization, query }, page) => {
    const wanted = { category: query.category, withSchemas: query.include === 'context_schema' };
    return events.listOrganizationEvents(deps, organization.id, wanted, page);
  },
});

const Waiting = Type.Object(
  {
    complete: Type.Boolean({ description: 'False: so much waits in the organization that only a part was counted.' }),
    waiting: Type.Array(
      Type.Object({
        reason: Type.String({ description: 'A stable code, such as `quiet_hours`.' }),
        count: Type.Integer(),
        first_due_at: moment,
        last_due_at: moment,
      }),
    ),
  },
  { $id: 'Waiting' },
);

export const retrieveWaiting = plain(['org', 'prj', 'app', 'evt'], {
  id: 'retrieveWaiting',
  summary: 'Count messages that wait',
  description:
    'Messages of the event that are decided and wait for a known time, by reason, and from when until when they will be ' +
    'sent. What a pause holds is not among them.',
  tag: 'Events',
  status: 200,
  answer: Waiting,
  handle: ({ deps, organization, event }) => events.getWaiting(deps, organization.id, event.id),
});

export const triggerEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'triggerEvent',
  summary: 'Trigger event',
  description: 'Answered once the occurrence is stored for good; what becomes of it follows.',
  tag: 'Events',
  status: 201,
  problems: [409],
  body: TriggerBody,
  query: TriggerQuery,
  headers: TriggerHeaders,
  answer: Triggered,
  handle: async ({ deps, caller, body, query, request, organization, project, application, event }) => {
    const occurrence = await events.triggerEvent(
      deps,
      { organization, project, application, event },
      {
        context: body.context as JsonObject | undefined,
        options: body.options,
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

export const simulateEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'simulateEvent',
  summary: 'Simulate event',
  description:
    'Who would get what, written out, and why the others would not. Nothing is stored or sent. Recipients and their ' +
    'messages are only told to whoever has `user:read` too; counts and reasons to everybody who may trigger.',
  tag: 'Events',
  status: 200,
  body: TriggerBody,
  answer: Simulation,
  handle: ({ deps, caller, body, organization, project, application, event }) =>
    simulate(
      deps,
      { organization, project, application, event },
      { context: body.context as JsonObject | undefined, options: body.options },
      allows(caller.permissions, 'user:read'),
    ),
});

export const createEvent = plain(['org', 'prj', 'app'], {
  id: 'createEvent',
  summary: 'Create event',
  tag: 'Events',
  status: 201,
  problems: [409],
  body: NewEvent,
  answer: EventDetails,
  handle: async call => {
    const made = await events.createEvent(call.deps, slugsOf(call), call.body);
    return created(call, `${placeOf(call)}e/${made.slug}/`, made);
  },
});

export const retrieveEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'retrieveEvent',
  summary: 'Retrieve event',
  tag: 'Events',
  status: 200,
  answer: EventDetails,
  handle: async call => tagged(call, await events.getEvent(call.deps, slugsOf(call))),
});

export const patchEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'patchEvent',
  summary: 'Change event',
  tag: 'Events',
  status: 200,
  body: EventChanges,
  answer: EventDetails,
  handle: async call => tagged(call, await events.updateEvent(call.deps, slugsOf(call), call.body, ifMatch(call))),
});

export const deleteEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'deleteEvent',
  summary: 'Delete event',
  description: 'What has something below it is refused, unless `cascade` is given. History stays.',
  tag: 'Events',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => events.deleteEvent(call.deps, slugsOf(call), deletionOf(call.query), ifMatch(call)),
});

export const pauseEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'pauseEvent',
  summary: 'Pause event',
  description: 'Messages are kept until it is resumed; none is dropped.',
  tag: 'Events',
  status: 200,
  answer: Paused,
  handle: async call => {
    await events.pauseEvent(call.deps, call.organization.id, { id: call.event.id, path: pathOf(call) });
    return { paused: true };
  },
});

export const resumeEvent = plain(['org', 'prj', 'app', 'evt'], {
  id: 'resumeEvent',
  summary: 'Resume event',
  description: 'What was kept is sent.',
  tag: 'Events',
  status: 200,
  answer: Resumed,
  handle: async call => ({
    paused: false,
    released: await events.resumeEvent(call.deps, call.organization.id, { id: call.event.id, path: pathOf(call) }),
  }),
});
