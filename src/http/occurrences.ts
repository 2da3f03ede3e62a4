import { Type } from 'typebox';
import { invalid } from '../core/errors.ts';
import { explainReason } from '../core/explain.ts';
import { outcomeOf } from '../core/outcome.ts';
import { fold } from '../core/text.ts';
import * as acknowledgements from '../services/acknowledgements.ts';
import { listOccurrenceSteps } from '../services/occurrence-steps.ts';
import * as occurrences from '../services/occurrences.ts';
import * as replays from '../services/replays.ts';
import { showDelivery } from './deliveries.ts';
import { badCursor, history, ordered, plain } from './route.ts';
import {
  Answers,
  Delivery,
  DeliveryFilter,
  Occurrence,
  OccurrenceFilter,
  OccurrenceStep,
  OccurrenceSummary,
  ReplayPreview,
} from './schemas-occurrences.ts';

const tag = 'Occurrences';
const deliveryFilters = new Set(['status', 'reason', 'user', 'channel']);

type Summary = Awaited<ReturnType<typeof occurrences.listOccurrences>>[number];

function summarize(row: Summary) {
  const { created_at, completed_at, due_at, acknowledged_at, resolved_at } = row;
  const outcome = outcomeOf(row, Date.now());
  return {
    ...row,
    outcome,
    trace_id: row.trace_id ?? undefined,
    scheduled_for: outcome === 'scheduled' ? due_at!.toISOString() : null,
    created_at: created_at.toISOString(),
    completed_at: completed_at?.toISOString() ?? null,
    acknowledged_at: acknowledged_at?.toISOString() ?? null,
    resolved_at: resolved_at?.toISOString() ?? null,
  };
}

export const listOccurrences = history(['org'], {
  id: 'listOccurrences',
  summary: 'List occurrences',
  description: 'The newest first.',
  tag,
  query: OccurrenceFilter,
  item: OccurrenceSummary,
  list: async ({ deps, organization, query }, page) => {
    const filter = {
      ...query,
      since: query.since ? new Date(query.since) : undefined,
      until: query.until ? new Date(query.until) : undefined,
    };
    const rows = await occurrences.listOccurrences(deps, organization.id, filter, {
      before: page.after,
      limit: page.limit,
    });
    return rows.map(row => ({ id: row.identifier, ...summarize(row) }));
  },
});

export const retrieveOccurrence = plain(['org', 'identifier'], {
  id: 'retrieveOccurrence',
  summary: 'Retrieve occurrence',
  tag,
  status: 200,
  answer: Occurrence,
  handle: async ({ deps, organization, occurrence: { identifier }, link }) => {
    const row = await occurrences.getOccurrence(deps, organization.id, identifier);
    const deliveries = link(`/api/o/${organization.slug}/occurrence/${identifier}/deliveries/`);
    return { ...summarize(row), context: row.context, options: row.options, deliveries };
  },
});

export const listDeliveries = ordered(['org', 'identifier'], {
  id: 'listDeliveries',
  summary: 'List deliveries',
  description:
    'One row for each recipient and channel, sent or not, with the reason. With `order=attention`, what failed comes first, ' +
    'then what is on its way, then the rest, and suppressed ones are left out: *List reasons of suppressed deliveries* ' +
    'counts them.',
  tag,
  query: DeliveryFilter,
  item: Delivery,
  list: async ({ deps, organization, occurrence, query: { order, ...query } }, { after, limit }) => {
    const { identifier } = occurrence;
    const [, group = '0', id = '0'] = /^(?:([0-2])\.)?(\d{1,15})?$/.exec(after) ?? [];
    if (after !== '' && id === '0') throw badCursor();
    if (order === 'attention') {
      const given = Object.entries(query).filter(([name, value]) => deliveryFilters.has(name) && value !== undefined);
      if (given[0]) throw invalid({ order: [`cannot be combined with ${given[0][0]}: leave one of them out`] });
      const place = { group: Number(group), id: Number(id) };
      const rows = await occurrences.listDeliveriesByAttention(deps, organization.id, identifier, place, limit);
      return rows.map(({ group, ...row }) => ({ ...showDelivery(row), cursor: `${group}.${row.id}` }));
    }
    const filter = { ...query, user: query.user && fold(query.user) };
    const page = { after: Number(id), limit };
    const rows = await occurrences.listDeliveries(deps, organization.id, identifier, filter, page);
    return rows.map(row => ({ ...showDelivery(row), cursor: String(row.id) }));
  },
});

export const listSuppressedReasons = plain(['org', 'identifier'], {
  id: 'listSuppressedReasons',
  summary: 'List reasons of suppressed deliveries',
  description: 'How many deliveries were suppressed for which reason, the most frequent first.',
  tag,
  status: 200,
  answer: Type.Array(
    Type.Object({
      reason: Type.String({ description: 'A stable code.' }),
      explanation: Type.String(),
      count: Type.Integer(),
      capped: Type.Boolean({
        description: `Whether there may be more: counted up to ${occurrences.mostSuppressed}.`,
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
    'What its steps did, with the reason where they told nobody, and those that are planned if nobody answers.',
  tag,
  status: 200,
  answer: Type.Array(OccurrenceStep),
  handle: ({ deps, organization, occurrence }) =>
    listOccurrenceSteps(deps, organization.id, occurrence.identifier, Date.now()),
});

export const acknowledgeOccurrence = plain(['org', 'identifier'], {
  id: 'acknowledgeOccurrence',
  summary: 'Acknowledge occurrence',
  description:
    'Somebody has it in hand: ends every later step and cancels what is pending of them. Final; asked again, it answers the same.',
  tag,
  status: 200,
  answer: Answers,
  handle: ({ deps, organization, occurrence }) =>
    acknowledgements.acknowledge(deps, organization.id, occurrence.identifier),
});

export const resolveOccurrence = plain(['org', 'identifier'], {
  id: 'resolveOccurrence',
  summary: 'Resolve occurrence',
  description:
    'It is over: as an acknowledgement, and triggers of its `dedup_key` open another one. With `notify_resolved`, those who were told hear of it.',
  tag,
  status: 200,
  answer: Answers,
  handle: ({ deps, organization, occurrence }) =>
    acknowledgements.resolve(deps, organization.id, occurrence.identifier),
});

export const cancelOccurrence = plain(['org', 'identifier'], {
  id: 'cancelOccurrence',
  summary: 'Cancel occurrence',
  description: 'Stops what is not sent yet.',
  tag,
  status: 200,
  answer: Type.Object({ cancelled: Type.Integer({ description: 'Deliveries that will not be sent.' }) }),
  handle: async ({ deps, organization, occurrence }) => ({
    cancelled: await occurrences.cancel(deps, organization.id, occurrence.identifier),
  }),
});

export const previewReplay = plain(['org', 'identifier'], {
  id: 'previewReplay',
  summary: 'Preview replay',
  description: 'What a replay would do if it were asked for now. Nothing is sent.',
  tag,
  status: 200,
  answer: ReplayPreview,
  handle: ({ deps, organization, occurrence }) => replays.previewReplay(deps, organization.id, occurrence.identifier),
});

export const replayOccurrence = plain(['org', 'identifier'], {
  id: 'replayOccurrence',
  summary: 'Replay occurrence',
  description: 'Sends failed deliveries again, and those whose outcome is unknown.',
  tag,
  status: 200,
  answer: Type.Object({ replayed: Type.Integer({ description: 'Deliveries that are due again.' }) }),
  handle: async ({ deps, organization, occurrence }) => ({
    replayed: await occurrences.replay(deps, organization.id, occurrence.identifier),
  }),
});
