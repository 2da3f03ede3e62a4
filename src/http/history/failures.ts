import { Type } from 'typebox';
import { maxPerBulkAction } from '../../services/history/activity.ts';
import * as failures from '../../services/history/stats/failures.ts';
import { maxUnresolved } from '../../services/history/stats/stats.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullable, time } from '../server/schemas.ts';
import { showDelivery } from './deliveries.ts';
import { causeParameter, PastDelivery, ReplayPreview } from './schemas-occurrences.ts';

const { plain } = endpoints('Occurrences');

const FailureCauses = Type.Object(
  {
    causes: Type.Array(
      Type.Object({
        cause: Type.String({ description: 'Id of the cause, for *List activity* and *Retry cause*.' }),
        channel: nullable(Type.String(), 'Slug; null when the channel has been deleted.'),
        project: nullable(Type.String(), 'Slug; null for a channel of the organization.'),
        deliveries: Type.Integer({ description: 'Deliveries that failed for this cause.' }),
        since: time('When the oldest of them was created.'),
        example: Type.Omit(PastDelivery, []),
      }),
      { description: `Those of most deliveries first, at most ${failures.maxCauses}.` },
    ),
    checked: Type.Integer({ description: `The newest failures that were grouped, at most ${maxUnresolved}.` }),
    capped: Type.Boolean({ description: 'Whether there may be more failures than those.' }),
  },
  { $id: 'FailureCauses' },
);

export const listFailureCauses = plain(['org'], {
  id: 'listFailureCauses',
  readsReplica: true,
  summary: 'List causes of failures',
  description:
    'Groups the deliveries of *List failures* by channel, status, reason and provider error. Addresses, ids and numbers in ' +
    'an error are ignored. The example is the newest delivery.',
  answer: FailureCauses,
  handle: async ({ deps, organization }) => {
    const { causes, ...rest } = await failures.listCauses(deps, organization.id);
    return { causes: causes.map(one => ({ ...one, example: showDelivery(one.example) })), ...rest };
  },
});

const body = Type.Object({ cause: causeParameter }, closed);
const remaining = Type.Integer({
  description: `Deliveries of this cause beyond the ${maxPerBulkAction} of one request. Repeat it to retry them.`,
});

export const previewCause = plain(['org'], {
  id: 'previewCause',
  summary: 'Preview retry of a cause',
  description: 'Returns what *Retry cause* would do now. Nothing is sent.',
  body,
  answer: Type.Object({ ...ReplayPreview.properties, remaining }),
  handle: ({ deps, organization, body }) => failures.previewCause(deps, organization.id, body.cause),
});

export const retryCause = plain(['org'], {
  id: 'retryCause',
  summary: 'Retry cause',
  description: `Queues the deliveries of a cause again, the oldest ${maxPerBulkAction} of them.`,
  body: Type.Object(body.properties, closed),
  answer: Type.Object({
    retried: Type.Integer({ description: 'Deliveries that are due again.' }),
    unchanged: Type.Integer({ description: 'Deliveries that were retried or removed meanwhile.' }),
    remaining,
  }),
  handle: ({ deps, organization, body }) => failures.retryCause(deps, organization.id, body.cause),
});
