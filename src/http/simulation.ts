import { Type } from 'typebox';
import type { JsonObject } from '../core/json.ts';
import { allows } from '../core/permissions.ts';
import { TriggerBody } from '../core/trigger.ts';
import { simulate } from '../services/simulation.ts';
import { messageFields } from './messages.ts';
import { plain, type Route } from './route.ts';

const maybeText = Type.Union([Type.String(), Type.Null()]);

const Simulation = Type.Object(
  {
    complete: Type.Boolean({ description: 'Whether everybody was looked at.' }),
    notifications: Type.Array(
      Type.Object({
        name: Type.String(),
        reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it would be for nobody.' }),
        deliveries: Type.Integer({ description: 'Messages that would be sent.' }),
        held: Type.Record(Type.String(), Type.Integer(), {
          description: 'Reason to how many of them would wait before they are sent.',
        }),
        suppressed: Type.Record(Type.String(), Type.Integer(), { description: 'Reason to how many would get none.' }),
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
        message: Type.Union([Type.Object(messageFields), Type.Null()]),
        problem: Type.Union([Type.String(), Type.Null()], { description: 'Why the message cannot be written.' }),
      }),
      { description: 'The first ones, those that would be sent before the others.' },
    ),
  },
  { $id: 'Simulation' },
);

export const simulationRoutes: Route[] = [
  plain({
    method: 'POST',
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/simulate/',
    permission: 'event:trigger',
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
  }),
];
