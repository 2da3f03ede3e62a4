import type { JsonObject } from '../core/json.ts';
import { TriggerBody } from '../core/trigger.ts';
import { triggerEvent } from '../services/occurrences.ts';
import { plain, type Route } from './route.ts';
import { Triggered, TriggerHeaders, TriggerQuery } from './schemas.ts';

export const eventRoutes: Route[] = [
  plain({
    method: 'POST',
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/trigger/',
    permission: 'event:trigger',
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
      const occurrence = await triggerEvent(
        deps,
        { organization, project, application, event },
        {
          context: body.context as JsonObject | undefined,
          options: body.options,
          correlationId: query.cid,
          idempotencyKey: request.headers['idempotency-key'] as string | undefined,
          keyId: caller.kind === 'key' ? caller.id : `account:${caller.id}`,
        },
      );
      return { occurrence };
    },
  }),
];
