import { Type } from 'typebox';
import { explainReason } from '../../core/decision/explain.ts';
import { Snooze } from '../../core/decision/snooze.ts';
import { invalid } from '../../core/errors.ts';
import { optionalString } from '../../core/optional.ts';
import { fold, limits } from '../../core/text/text.ts';
import * as deliveryQueries from '../../db/history/delivery-list.ts';
import * as responses from '../../db/history/escalations.ts';
import * as queries from '../../db/history/occurrences.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as acknowledgements from '../../services/history/acknowledgements/acknowledgements.ts';
import { addStates, type OccurrenceSummaryRow } from '../../services/history/occurrence-states.ts';
import { listOccurrenceSteps } from '../../services/history/occurrence-steps.ts';
import * as occurrences from '../../services/history/occurrences.ts';
import * as replays from '../../services/history/replays.ts';
import { badCursor, endpoints } from '../server/route.ts';
import { showDelivery } from './deliveries.ts';
import {
  Answers,
  Delivery,
  DeliveryFilter,
  Occurrence,
  OccurrenceFilter,
  OccurrenceResponse,
  OccurrenceStep,
  OccurrenceSummary,
  ReplayPreview,
} from './schemas-occurrences.ts';

const { history, ordered, plain } = endpoints('Occurrences');

const deliveryFilters = new Set(['status', 'state', 'reason', 'user', 'channel']);

export function summarize(row: OccurrenceSummaryRow) {
  return {
    ...row,
    trace_id: row.trace_id ?? undefined,
    scheduled_for: row.outcome === 'scheduled' ? row.due_at : null,
  };
}

export const listOccurrences = history(['org'], {
  id: 'listOccurrences',
  readsReplica: true,
  summary: 'List occurrences',
  description: 'Newest first.',
  query: OccurrenceFilter,
  item: OccurrenceSummary,
  list: async ({ deps, organization, query }, page) => {
    const filter = {
      ...query,
      since: query.since ? new Date(query.since) : undefined,
      until: query.until ? new Date(query.until) : undefined,
    };
    const rows = await queries.listOccurrences(deps.db, organization.id, filter, {
      before: page.after,
      limit: page.limit,
    });
    const summaries = await addStates(deps, organization.id, rows);
    return summaries.map(row => ({ id: row.identifier, ...summarize(row) }));
  },
});

export const retrieveOccurrence = plain(['org', 'identifier'], {
  id: 'retrieveOccurrence',
  summary: 'Retrieve occurrence',
  answer: Occurrence,
  handle: async ({ deps, organization, occurrence: { identifier }, link }) => {
    const row = await occurrences.getOccurrence(deps, organization.id, identifier);
    const deliveries = link(`/api/o/${organization.slug}/occurrence/${identifier}/deliveries/`);
    const [summary] = await addStates(deps, organization.id, [row]);
    return { ...summarize(summary!), context: row.context, options: row.options, deliveries, hold: row.hold };
  },
});

export const listDeliveries = ordered(['org', 'identifier'], {
  id: 'listDeliveries',
  readsReplica: true,
  summary: 'List deliveries',
  description:
    'One row for each recipient and channel, sent or not, with the reason. With `order=attention`, failed deliveries come ' +
    'first, then open ones, then the rest; suppressed ones are left out (see *List reasons of suppressed deliveries*).',
  query: DeliveryFilter,
  item: Delivery,
  list: async ({ deps, organization, occurrence, query: { order, ...query } }, { after, limit }) => {
    const { identifier } = occurrence;
    const [, group = '0', id = '0'] = /^(?:([0-2])\.)?(\d{1,15})?$/.exec(after) ?? [];
    if (after !== '' && id === '0') throw badCursor();
    if (order === 'attention') {
      const filters = Object.entries(query).filter(([name, value]) => deliveryFilters.has(name) && value !== undefined);
      if (filters[0]) throw invalid({ order: [`cannot be combined with ${filters[0][0]}: use one of them`] });
      const position = { group: Number(group), id: Number(id) };
      const rows = await deliveryQueries.listDeliveriesByAttention(
        deps.db,
        organization.id,
        identifier,
        position,
        limit,
      );
      return rows.map(({ group, ...row }) => ({ ...showDelivery(row), cursor: `${group}.${row.id}` }));
    }
    const filter = { ...query, user: query.user && fold(query.user) };
    const page = { after: Number(id), limit };
    const rows = await deliveryQueries.listDeliveries(deps.db, organization.id, identifier, filter, page);
    return rows.map(row => ({ ...showDelivery(row), cursor: String(row.id) }));
  },
});

export const listSuppressedReasons = plain(['org', 'identifier'], {
  id: 'listSuppressedReasons',
  summary: 'List reasons of suppressed deliveries',
  description: 'The number of suppressed deliveries by reason, most frequent first.',
  answer: Type.Array(
    Type.Object({
      reason: Type.String({ description: 'A stable code.' }),
      explanation: Type.String(),
      count: Type.Integer(),
      capped: Type.Boolean({
        description: `Whether there may be more: counting stops at ${occurrences.maxSuppressed}.`,
      }),
    }),
  ),
  handle: async ({ deps, organization, occurrence }) => {
    const found = await occurrences.listSuppressedReasons(deps, organization.id, occurrence.identifier);
    return found.map(one => ({ ...one, explanation: explainReason(one.reason) }));
  },
});

export const listSteps = plain(['org', 'identifier'], {
  id: 'listSteps',
  summary: 'List steps',
  description:
    'The past steps of the occurrence, with the reason where no one was notified, and the steps planned if no one responds.',
  answer: Type.Array(OccurrenceStep),
  handle: ({ deps, organization, occurrence }) =>
    listOccurrenceSteps(deps, organization.id, occurrence.identifier, currentTime()),
});

export const acknowledgeOccurrence = plain(['org', 'identifier'], {
  id: 'acknowledgeOccurrence',
  summary: 'Acknowledge occurrence',
  description:
    'Ends all later steps and cancels their pending deliveries. Messages that were sent are updated where the provider can. ' +
    'Repeating it changes nothing and returns the same. With `acknowledgement_expires`, it holds until `acknowledged_until`. It ' +
    'ends a snooze. With `ack: each`, it ends the steps for one recipient, and the occurrence is acknowledged when no one is `missing`; ' +
    '409 `occurrence.not_asked` for everyone else.',
  problems: [409],
  query: Type.Object({
    user: optionalString({
      maxLength: limits.email,
      description: 'Username of the recipient who acknowledges. Default: the signed-in account; an API key has to say.',
    }),
  }),
  answer: Answers,
  handle: ({ deps, organization, occurrence, query: { user } }) =>
    user === undefined
      ? acknowledgements.acknowledge(deps, organization.id, occurrence.identifier)
      : acknowledgements.acknowledgeFor(deps, organization.id, occurrence.identifier, fold(user)),
});

export const snoozeOccurrence = plain(['org', 'identifier'], {
  id: 'snoozeOccurrence',
  summary: 'Snooze occurrence',
  description:
    'Acknowledges it until a time, also if it is acknowledged or snoozed already: nothing escalates until then. Then its steps run ' +
    'again from the first one, unless it was acknowledged or resolved. 409 `occurrence.no_steps` if it has none.',
  problems: [409],
  body: Type.Object(Snooze.properties, { $id: 'Snooze', additionalProperties: false }),
  answer: Answers,
  handle: ({ deps, organization, occurrence, body }) =>
    acknowledgements.snooze(deps, organization.id, occurrence.identifier, body),
});

export const unacknowledgeOccurrence = plain(['org', 'identifier'], {
  id: 'unacknowledgeOccurrence',
  summary: 'Unacknowledge occurrence',
  description:
    'Takes an acknowledgement or a snooze back: the steps run again at once, from the first one. Messages that were cancelled stay ' +
    'cancelled. Changes nothing if it is not acknowledged, or is resolved.',
  answer: Answers,
  handle: ({ deps, organization, occurrence }) =>
    acknowledgements.unacknowledge(deps, organization.id, occurrence.identifier),
});

export const listResponses = plain(['org', 'identifier'], {
  id: 'listResponses',
  summary: 'List responses',
  description:
    'Who acknowledged, snoozed and resolved the occurrence, and what ended without anyone; the last 100, oldest first.',
  answer: Type.Array(OccurrenceResponse),
  handle: ({ deps, organization, occurrence }) =>
    responses.listResponses(deps.db, organization.id, occurrence.identifier),
});

export const resolveOccurrence = plain(['org', 'identifier'], {
  id: 'resolveOccurrence',
  summary: 'Resolve occurrence',
  description:
    'Like an acknowledgement, and later triggers with its `dedup_key` start a new occurrence. With `notify_resolved`, the ' +
    'notified recipients are informed. Final.',
  answer: Answers,
  handle: ({ deps, organization, occurrence }) =>
    acknowledgements.resolve(deps, organization.id, occurrence.identifier),
});

export const cancelOccurrence = plain(['org', 'identifier'], {
  id: 'cancelOccurrence',
  summary: 'Cancel occurrence',
  description:
    'Cancels everything that is not sent yet, also what waits for its provider. Only messages that a provider is accepting at ' +
    'this moment may still arrive: `sending` says how many they are at most. Messages that were sent are retracted where the ' +
    'provider can.',
  answer: Type.Object({
    cancelled: Type.Integer({ description: 'Deliveries that will not be sent.' }),
    sending: Type.Integer({ description: 'Deliveries that were with a provider, and may still arrive.' }),
  }),
  handle: ({ deps, organization, occurrence }) => occurrences.cancel(deps, organization.id, occurrence.identifier),
});

export const previewReplay = plain(['org', 'identifier'], {
  id: 'previewReplay',
  summary: 'Preview replay',
  description: 'Returns what a replay would do now. Nothing is sent.',
  answer: ReplayPreview,
  handle: ({ deps, organization, occurrence }) => replays.previewReplay(deps, organization.id, occurrence.identifier),
});

export const replayOccurrence = plain(['org', 'identifier'], {
  id: 'replayOccurrence',
  summary: 'Replay occurrence',
  description: 'Retries all deliveries that failed or whose outcome is unknown.',
  answer: Type.Object({ replayed: Type.Integer({ description: 'Deliveries that are due again.' }) }),
  handle: async ({ deps, organization, occurrence }) => ({
    replayed: await occurrences.replay(deps, organization.id, occurrence.identifier),
  }),
});
