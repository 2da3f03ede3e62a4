import { Type } from 'typebox';
import * as activity from '../services/activity.ts';
import { cursorOf, pageBefore, showPast } from './deliveries.ts';
import { ordered, plain } from './route.ts';
import { ActivityFilter, PastDelivery, ReplayPreview } from './schemas-occurrences.ts';

const tag = 'Occurrences';

export const listActivity = ordered(['org'], {
  id: 'listActivity',
  summary: 'List activity',
  description:
    'Deliveries of all occurrences, those of the newest first. A page may have fewer rows than asked for and still be ' +
    'followed by another one: looking for what is rare stops after a while, and the next page goes on from there.',
  tag,
  query: ActivityFilter,
  item: Type.Omit(PastDelivery, []),
  list: async ({ deps, organization, query }, page) => {
    const filter = {
      ...query,
      since: query.since ? new Date(query.since) : undefined,
      until: query.until ? new Date(query.until) : undefined,
    };
    const { rows, next } = await activity.listActivity(deps, organization.id, filter, pageBefore(page));
    return { rows: rows.map(showPast), next: next && cursorOf(next) };
  },
});

const Selection = Type.Object(
  {
    deliveries: Type.Array(
      Type.Object(
        {
          occurrence: Type.String({ format: 'uuid', description: 'Identifier of the occurrence.' }),
          id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Id of the delivery.' }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: activity.mostAtOnce },
    ),
  },
  { $id: 'Selection', additionalProperties: false },
);

export const previewRetries = plain(['org'], {
  id: 'previewRetries',
  summary: 'Preview retries',
  description: 'What a retry of these deliveries would do if it were asked for now. Nothing is sent.',
  tag,
  status: 200,
  body: Type.Omit(Selection, []),
  answer: Type.Omit(ReplayPreview, []),
  handle: ({ deps, organization, body }) => activity.previewRetries(deps, organization.id, body.deliveries),
});

export const retryDeliveries = plain(['org'], {
  id: 'retryDeliveries',
  summary: 'Retry deliveries',
  description: 'Sends those again that failed, or whose outcome is unknown. The others stay as they are.',
  tag,
  status: 200,
  body: Selection,
  answer: Type.Object({ retried: Type.Integer({ description: 'Deliveries that are due again.' }) }),
  handle: async ({ deps, organization, body }) => ({
    retried: await activity.retryDeliveries(deps, organization.id, body.deliveries),
  }),
});

export const cancelDeliveries = plain(['org'], {
  id: 'cancelDeliveries',
  summary: 'Cancel deliveries',
  description: 'Stops those that wait. The others stay as they are.',
  tag,
  status: 200,
  body: Type.Omit(Selection, []),
  answer: Type.Object({ cancelled: Type.Integer({ description: 'Deliveries that will not be sent.' }) }),
  handle: async ({ deps, organization, body }) => ({
    cancelled: await activity.stopDeliveries(deps, organization.id, body.deliveries),
  }),
});
