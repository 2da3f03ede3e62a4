import { Type } from 'typebox';
import { source as noun } from '../../../core/configuration/nouns/source.ts';
import { timeOfUuid } from '../../../core/ids.ts';
import { alertOutcomes, alertStates, type SourceRequest, severities } from '../../../core/sources/alert.ts';
import { listPayloads, type Payload } from '../../../db/history/sources/payloads.ts';
import * as previews from '../../../services/history/sources/preview.ts';
import { replayPayload } from '../../../services/history/sources/replay.ts';
import { endpoints, slugsOf } from '../../server/route.ts';
import { nullable, nullableText, timestamp } from '../../server/schemas.ts';

const { history, plain } = endpoints('Sources');

const summary = {
  id: Type.String({ format: 'uuid' }),
  received_at: Type.String({ format: 'date-time' }),
  state: Type.Enum(['received', 'taken', 'partly', 'rejected', 'refused'], {
    description:
      'received: not judged yet. taken: all alerts were. partly: some were rejected. rejected: all were. refused: it could not be ' +
      'verified or read.',
  }),
  method: Type.String(),
  url: Type.String({ description: 'Without the token.' }),
  content_type: Type.String(),
  bytes: Type.Integer({ description: 'Size of the whole body.' }),
  counts: Type.Record(Type.String(), Type.Integer(), { description: 'Number of alerts by outcome.' }),
  note: nullable(Type.String(), 'Why it was refused, or what else is remarkable.'),
};
const PayloadSummary = Type.Object(summary, { $id: 'SourcePayloadSummary' });
const AlertResult = Type.Object({
  at: Type.String({ description: 'Where it is in the payload, such as alerts/3.' }),
  key: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  event: Type.Optional(Type.String()),
  occurrence: Type.Optional(Type.String({ format: 'uuid' })),
  outcome: Type.Enum([...alertOutcomes]),
  error: Type.Optional(Type.String()),
});
const PayloadDetails = Type.Object(
  {
    ...summary,
    body: Type.String({ description: 'At most the first 64 KiB.' }),
    alerts: Type.Array(AlertResult, {
      description: 'What became of the first 200 alerts, those with errors first if there are more.',
    }),
  },
  { $id: 'SourcePayload' },
);

function show({ id, state, request, bytes, counts, note }: Payload) {
  const { method, url, content_type } = request as Record<string, string>;
  const received_at = new Date(timeOfUuid(id)).toISOString();
  return { id, received_at, state, method: method!, url: url!, content_type: content_type!, bytes, counts, note };
}

export const listSourcePayloads = history(['org', 'prj', 'app', 'source'], {
  id: 'listSourcePayloads',
  summary: 'List payloads of source',
  description: 'Newest first. The last 200 of 7 days are kept.',
  item: PayloadSummary,
  list: async ({ deps, organization, source }, page) =>
    (await listPayloads(deps.db, organization.id, source.id, page)).map(show),
});

export const retrieveSourcePayload = plain(['org', 'prj', 'app', 'source', 'payload'], {
  id: 'retrieveSourcePayload',
  summary: 'Retrieve payload of source',
  answer: PayloadDetails,
  handle: ({ payload }) => ({ ...show(payload), body: payload.body.toString('utf8'), alerts: payload.alerts }),
});

export const replaySourcePayload = plain(['org', 'prj', 'app', 'source', 'payload'], {
  id: 'replaySourcePayload',
  summary: 'Replay payload of source',
  description:
    'Judges it again with the source as it is now. Alerts of which something newer is known are `outdated` and left alone, so that ' +
    'repeating it changes nothing.',
  problems: [409],
  answer: Type.Object(
    {
      state: summary.state,
      changed: Type.Integer({ description: 'Number of alerts that changed something.' }),
      alerts: Type.Array(AlertResult, { description: 'What became of the first 200 alerts now.' }),
    },
    { $id: 'SourceReplay' },
  ),
  handle: async ({ deps, organization, source, payload }) => {
    const { alerts, ...rest } = await replayPayload(deps, organization.id, source.id, payload);
    return { ...rest, alerts: alerts.slice(0, 200) };
  },
});

const { slug, use, mapping, routes, group_by } = noun.fields;
const header = { type: 'string', maxLength: 1_000 } as const;

export const previewSource = plain(['org', 'prj', 'app'], {
  id: 'previewSource',
  summary: 'Preview source',
  description:
    'Reads a payload with these rules, as the address of a source with them would, and returns what each alert would become. Nothing is ' +
    'stored, and no event is triggered.',
  body: Type.Object(
    {
      source: Type.Object({ slug, use, mapping, routes, group_by }, { additionalProperties: false }),
      request: Type.Optional(
        Type.Object(
          {
            body: Type.String({ maxLength: previews.previewLimits.body }),
            content_type: Type.Optional(Type.String({ maxLength: 1_000, default: 'application/json' })),
            method: Type.Optional(Type.Enum(['POST', 'PUT', 'GET'], { default: 'POST' })),
            url: Type.Optional(
              Type.String({
                maxLength: 8_000,
                default: '/in/',
                description: 'The path, for senders that report in it.',
              }),
            ),
            headers: Type.Optional(
              Type.Unsafe<Record<string, string>>({
                type: 'object',
                additionalProperties: header,
                maxProperties: 50,
                description: 'Names in lower case, such as ce-type.',
              }),
            ),
          },
          { additionalProperties: false, description: 'What the sender posts.' },
        ),
      ),
      payload: Type.Optional(
        Type.String({ format: 'uuid', description: 'Id of a stored payload of the source, instead of a request.' }),
      ),
    },
    { $id: 'SourcePreviewRequest', additionalProperties: false },
  ),
  answer: Type.Object(
    {
      error: nullable(Type.String(), 'Why the payload as a whole cannot be read.'),
      note: nullable(Type.String(), 'What else is remarkable.'),
      total: Type.Integer({ description: 'Number of alerts in the payload.' }),
      alerts: Type.Array(
        Type.Object({
          at: Type.String({ description: 'Where it is in the payload, such as alerts/3.' }),
          outcome: Type.Enum(['routed', 'unrouted', 'ignored', 'rejected']),
          error: nullable(Type.String(), 'Why it is rejected, ignored or without a route.'),
          key: nullableText,
          state: nullable(Type.Enum([...alertStates])),
          title: nullableText,
          severity: nullable(Type.Enum([...severities])),
          time: nullable(timestamp),
          context: nullable(Type.Record(Type.String(), Type.Unknown())),
          event: nullable(Type.String(), 'Slug of the event that it would trigger.'),
          dedup_key: nullable(Type.String(), 'Alerts with the same one belong to one occurrence.'),
        }),
        { description: `The first ${previews.previewLimits.alerts}.` },
      ),
    },
    { $id: 'SourcePreview' },
  ),
  handle: async call => {
    const { deps, body, organization, project, application } = call;
    const rules = await previews.checkRules(deps, slugsOf(call), { ...body.source, name: body.source.slug } as never);
    const request = await previews.findRequest(deps, {
      ...{ organizationId: organization.id, applicationId: application.id, source: body.source.slug },
      ...{ payload: body.payload, request: body.request && toRequest(body.request) },
    });
    const path = { organization: organization.slug, project: project.slug, application: application.slug };
    return previews.previewSource(deps, path, rules, request);
  },
});

interface GivenRequest {
  body: string;
  content_type?: string;
  method?: string;
  url?: string;
  headers?: Record<string, string>;
}

function toRequest({ body, content_type, method, url, headers = {} }: GivenRequest): SourceRequest {
  return {
    method: method ?? 'POST',
    url: url ?? '/in/',
    contentType: content_type ?? 'application/json',
    headers,
    bytes: Buffer.from(body),
  };
}
