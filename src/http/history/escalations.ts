import { Type } from 'typebox';
import { isUuid } from '../../core/ids.ts';
import { optionalString } from '../../core/optional.ts';
import { alertStates, severities } from '../../core/sources/alert.ts';
import { incidentLimits, incidentStates } from '../../core/sources/incidents.ts';
import { limits } from '../../core/text/text.ts';
import type { IncidentKey } from '../../db/history/sources/incidents.ts';
import * as queries from '../../db/history/sources/incidents.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as escalations from '../../services/history/acknowledgements/escalations.ts';
import { badCursor, endpoints } from '../server/route.ts';
import { nullable, nullableText, nullableTimestamp, timestamp } from '../server/schemas.ts';
import { summarize } from './occurrences.ts';
import { OccurrenceSummary } from './schemas-occurrences.ts';

const { list, ordered, plain } = endpoints('Occurrences');

const progress = {
  steps: Type.Array(
    Type.Object({
      notification: nullableText,
      step: nullable(Type.Integer(), 'Number of the step that ran last; null before the first.'),
      is_running: Type.Boolean({ description: 'Whether that step is still being sent.' }),
      next_step: nullable(Type.Integer(), 'Number of the step that runs next; null after the last.'),
      next_at: nullableTimestamp,
    }),
    { description: 'One entry for each notification with steps.' },
  ),
  notified: Type.Array(Type.String(), {
    description: `Usernames of recipients to whom a step was sent, at most ${escalations.maxNotified}.`,
  }),
  notified_more: Type.Boolean({ description: 'Whether there are more.' }),
};

const Escalations = Type.Object(
  {
    escalations: Type.Array(Type.Object({ occurrence: Type.Omit(OccurrenceSummary, []), ...progress }), {
      description: `Newest first, at most ${escalations.maxEscalations}.`,
    }),
    capped: Type.Boolean({ description: 'Whether there may be more.' }),
  },
  { $id: 'Escalations' },
);

export const listEscalations = plain(['org'], {
  id: 'listEscalations',
  summary: 'List escalations',
  description: 'Occurrences whose steps still run, or ended without an acknowledgement.',
  answer: Escalations,
  handle: async ({ deps, organization }) => {
    const { escalations: rows, capped } = await escalations.listEscalations(deps, organization.id);
    return {
      escalations: rows.map(({ row, ...rest }) => ({ ...rest, occurrence: summarize(row) })),
      capped,
    };
  },
});

const severity = Type.Enum([...severities]);
const counted = `Counting stops at ${incidentLimits.counted}.`;

const Incident = Type.Object(
  {
    occurrence: Type.Omit(OccurrenceSummary, []),
    status: Type.Enum([...incidentStates]),
    title: nullable(Type.String(), 'The title of its first alert; null if it came from elsewhere.'),
    severity: nullable(severity, 'Of the worst alert that has not ended.'),
    source: nullable(
      Type.Object({ path: Type.String({ description: 'prj/app/source.' }), name: Type.String() }),
      'The source of its alerts; null if it was triggered in another way.',
    ),
    last_seen_at: timestamp,
    silenced_until: nullable(timestamp, 'Until when silences hold or suppress it; null unless it is `silenced`.'),
    alerts: Type.Object(
      { open: Type.Integer(), acknowledged: Type.Integer(), resolved: Type.Integer() },
      { description: `Its alerts by state. ${counted}` },
    ),
    ...progress,
  },
  { $id: 'Incident' },
);

export const listIncidents = ordered(['org'], {
  id: 'listIncidents',
  summary: 'List incidents',
  description:
    'Occurrences that someone should take care of: those with a `dedup_key`, such as alerts of sources, or with steps. `open` and ' +
    '`silenced` ones are in the order of attention: by severity, the newest first; others newest first. One that is silenced or snoozed is ' +
    'not listed as open or acknowledged. A page may be shorter than its limit, and still have a next one.',
  query: Type.Object({
    status: Type.Optional(Type.Enum([...incidentStates], { description: 'Default: `open`.' })),
    severity: Type.Optional(severity),
    project: optionalString({ maxLength: limits.slug, description: 'Slug.' }),
    source: optionalString({ maxLength: 3 * limits.slug + 2, description: 'prj/app/source.' }),
  }),
  item: Incident,
  list: async ({ deps, organization, query: { status: state = 'open', ...filter } }, { after, limit }) => {
    const [, rank, id = ''] = /^(\d)\.(.+)$/.exec(after) ?? [];
    if (after !== '' && !isUuid(id)) throw badCursor();
    const { rows, next } = await escalations.listIncidents(
      deps,
      organization.id,
      { state, ...filter },
      { after: after === '' ? undefined : { rank: Number(rank), id }, limit },
    );
    const cursorOf = (key: IncidentKey) => `${key.rank}.${key.id}`;
    return {
      rows: rows.map(({ row, key, ...rest }) => ({ ...rest, occurrence: summarize(row), cursor: cursorOf(key) })),
      next: next && cursorOf(next),
    };
  },
});

export const summarizeIncidents = plain(['org'], {
  id: 'summarizeIncidents',
  summary: 'Summarize incidents',
  description: `How many are open and acknowledged now, at most ${incidentLimits.summarized}, and how long answers took.`,
  query: Type.Object({
    days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 90, default: 7, description: 'The period of the times, until now.' }),
    ),
  }),
  answer: Type.Object(
    {
      open: Type.Integer(),
      silenced: Type.Integer(),
      acknowledged: Type.Integer(),
      snoozed: Type.Integer(),
      acknowledge_seconds: nullable(Type.Number(), 'Median time to acknowledge those of the period; null: none was.'),
      resolve_seconds: nullable(Type.Number(), 'Median time to resolve those of the period; null: none was.'),
    },
    { $id: 'IncidentSummary' },
  ),
  handle: ({ deps, organization, query }) =>
    queries.summarizeIncidents(deps.db, organization.id, new Date(currentTime() - (query.days ?? 7) * 86_400_000)),
});

export const listOccurrenceAlerts = list(['org', 'identifier'], {
  id: 'listOccurrenceAlerts',
  summary: 'List alerts',
  description:
    'The alerts of sources that belong to the occurrence. An alert that has opened again since then belongs to its newest occurrence.',
  item: Type.Object(
    {
      id: Type.Integer(),
      source: Type.String({ description: 'Slug.' }),
      key: Type.String(),
      state: Type.Enum([...alertStates]),
      title: Type.String(),
      severity: nullable(severity),
      count: Type.Integer({ description: 'How often it was reported while it was open.' }),
      opened_at: timestamp,
      last_seen_at: timestamp,
    },
    { $id: 'OccurrenceAlert' },
  ),
  list: ({ deps, organization, occurrence }, page) =>
    queries.listMemberAlerts(deps.db, organization.id, occurrence.identifier, page),
});
