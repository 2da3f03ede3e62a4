import { Type } from 'typebox';
import * as activity from '../../services/history/activity.ts';
import { findDeliveriesOfCause } from '../../services/history/stats/failures.ts';
import { endpoints } from '../server/route.ts';
import { closed } from '../server/schemas.ts';
import { cursorOf, pageBefore, showPastDelivery } from './deliveries.ts';
import { ActivityFilter, PastDelivery, ReplayPreview } from './schemas-occurrences.ts';

const { ordered, plain } = endpoints('Occurrences');

export const listActivity = ordered(['org'], {
  id: 'listActivity',
  readsReplica: true,
  summary: 'List activity',
  description:
    'Deliveries of all occurrences, newest occurrences first. A page may have fewer rows than requested and still be ' +
    'followed by another: each request scans a limited number of deliveries, and the next page continues from there.',
  query: ActivityFilter,
  item: Type.Omit(PastDelivery, []),
  list: async ({ deps, organization, query }, page) => {
    const { cause, ...rest } = query;
    const filter = {
      ...rest,
      keys: cause === undefined ? undefined : await findDeliveriesOfCause(deps, organization.id, cause),
      since: query.since ? new Date(query.since) : undefined,
      until: query.until ? new Date(query.until) : undefined,
    };
    const { rows, next } = await activity.listActivity(deps, organization.id, filter, pageBefore(page));
    return { rows: rows.map(showPastDelivery), next: next && cursorOf(next) };
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
      { minItems: 1, maxItems: activity.maxPerBulkAction },
    ),
  },
  { $id: 'Selection', additionalProperties: false },
);

export const previewRetries = plain(['org'], {
  id: 'previewRetries',
  summary: 'Preview retries',
  description: 'Returns what a retry of these deliveries would do now. Nothing is sent.',
  body: Type.Object(Selection.properties, closed),
  answer: Type.Omit(ReplayPreview, []),
  handle: ({ deps, organization, body }) => activity.previewRetries(deps, organization.id, body.deliveries),
});

export const retryDeliveries = plain(['org'], {
  id: 'retryDeliveries',
  summary: 'Retry deliveries',
  description: 'Retries deliveries that failed or whose outcome is unknown. The others are left unchanged.',
  body: Selection,
  answer: Type.Object({ retried: Type.Integer({ description: 'Deliveries that are due again.' }) }),
  handle: async ({ deps, organization, body }) => ({
    retried: await activity.retryDeliveries(deps, organization.id, body.deliveries),
  }),
});

export const cancelDeliveries = plain(['org'], {
  id: 'cancelDeliveries',
  summary: 'Cancel deliveries',
  description: 'Cancels waiting deliveries. The others are left unchanged.',
  body: Type.Object(Selection.properties, closed),
  answer: Type.Object({ cancelled: Type.Integer({ description: 'Deliveries that will not be sent.' }) }),
  handle: async ({ deps, organization, body }) => ({
    cancelled: await activity.stopDeliveries(deps, organization.id, body.deliveries),
  }),
});
