import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { suppressionLimits, suppressionReasons } from '../../core/audience/suppressions.ts';
import { media } from '../../core/configuration/nouns/schemas.ts';
import { optionalString } from '../../core/optional.ts';
import { limits } from '../../core/text/text.ts';
import * as queries from '../../db/audience/suppressions.ts';
import { maxRows } from '../../services/audience/list-files.ts';
import * as suppressions from '../../services/audience/suppressions.ts';
import { recordRead } from '../../services/operations/audit.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, endpoints } from '../server/route.ts';
import { nullable, nullableText, nullableTimestamp, timestamp } from '../server/schemas.ts';

const { deletion, list, plain } = endpoints('Suppression list');

const channelType = Type.Enum([...media]);
const reason = Type.Enum([...suppressionReasons]);

const Suppression = Type.Object(
  {
    id: Type.Integer(),
    channel_type: Type.String(),
    target: Type.String({
      description:
        'The address; emails are in lower case. `@` and a domain: all emails of the domain, not of its subdomains.',
    }),
    reason,
    source: Type.String({ description: '`manual`, `import`, or the name of the provider that reported it.' }),
    detail: nullableText,
    since: timestamp,
    expires_at: nullableTimestamp,
    projects: nullable(
      Type.Array(Type.String()),
      'Slugs of the projects whose channels send nothing to it, because one of these channels reported it. Null: no channel does.',
    ),
  },
  { $id: 'Suppression' },
);

const NewSuppression = Type.Object(
  {
    channel_type: channelType,
    target: Type.String({
      minLength: 1,
      maxLength: limits.subscription,
      description: 'An address of this channel type; for email also `@` and a domain.',
    }),
    reason: Type.Optional(Type.Enum([...suppressionReasons], { default: 'manual' })),
    detail: Type.Optional(Type.Union([Type.String({ maxLength: suppressionLimits.detail }), Type.Null()])),
    expires_at: Type.Optional(nullable(timestamp, 'Null: never.')),
  },
  { $id: 'NewSuppression', additionalProperties: false },
);

export const listSuppressions = list(['org'], {
  id: 'listSuppressions',
  readsReplica: true,
  summary: 'List suppressions',
  description: 'Returns the addresses and domains to which nothing is sent, newest first.',
  query: Type.Object({
    channel_type: Type.Optional(channelType),
    reason: Type.Optional(reason),
    search: optionalString({ maxLength: limits.subscription, description: 'Prefix of the address or domain.' }),
  }),
  item: Suppression,
  personal: 'user',
  list: ({ deps, organization, query }, page) => queries.listSuppressions(deps.db, organization.id, query, page),
});

export const createSuppression = plain(['org'], {
  id: 'createSuppression',
  summary: 'Create suppression',
  description:
    'Nothing is sent to the address from now on, including messages that are waiting. This also applies to required ' +
    'categories.',
  status: 201,
  problems: [409],
  body: NewSuppression,
  answer: Suppression,
  handle: async call => {
    const { deps, organization, body } = call;
    const { reason = 'manual', expires_at, ...fields } = body;
    const expiry = expires_at ? new Date(expires_at) : null;
    const input = { ...fields, reason, expires_at: expiry };
    const entry = await suppressions.createSuppression(deps, organization.id, input);
    return asCreated(call, `${apiPathOf({ organization })}suppressions/${entry.id}/`, entry);
  },
});

export const retrieveSuppression = plain(['org', 'suppression'], {
  id: 'retrieveSuppression',
  summary: 'Retrieve suppression',
  answer: Suppression,
  handle: call => withEtag(call, call.suppression),
});

export const deleteSuppression = deletion(['org', 'suppression'], {
  id: 'deleteSuppression',
  summary: 'Remove suppression',
  description: 'The address is sent to again. Messages that were suppressed are not sent later.',
  delete: (call, { dryRun }) =>
    suppressions.deleteSuppression(call.deps, call.organization.id, call.suppression.id, dryRun, ifMatch(call)),
});

export const importSuppressions = plain(['org'], {
  id: 'importSuppressions',
  summary: 'Import suppressions',
  description:
    `A CSV file in UTF-8 with at most ${maxRows} rows and 10 MiB, separated by commas, semicolons or tabs. The first row ` +
    'names the columns: `target` is required; `channel_type` (default: `email`), `reason` (default: `manual`), `detail` and ' +
    '`expires_at` are optional; `projects` has the slugs of projects, separated by spaces, if only their channels send nothing ' +
    'to it; `source` and `since`, which an export contains, are ignored. All rows are imported, or none. ' +
    'An entry that exists already is kept, except that its expiry can become later and its projects more.',
  consumes: 'text/csv',
  bodyLimit: 10 * 1024 * 1024,
  body: Type.String({ description: 'The file.' }),
  answer: Type.Object(
    {
      rows: Type.Integer({ description: 'Different targets in the file.' }),
      added: Type.Integer({ description: 'New entries.' }),
      extended: Type.Integer({
        description: 'Existing entries that expire later, or stop more projects, than before.',
      }),
      existing: Type.Integer({ description: 'Existing entries that were left unchanged.' }),
    },
    { $id: 'SuppressionsImported' },
  ),
  handle: ({ deps, organization, body }) => suppressions.importSuppressions(deps, organization.id, body),
});

export const exportSuppressions = plain(['org'], {
  id: 'exportSuppressions',
  readsReplica: true,
  summary: 'Export suppressions',
  description:
    'Returns a CSV file that can be imported again. A cell that a spreadsheet would run as a formula is prefixed with a ' +
    'quotation mark, which the import removes.',
  produces: 'text/csv',
  answer: Type.String(),
  handle: async ({ deps, organization, request, reply }) => {
    const isHead = request.method === 'HEAD';
    if (!isHead)
      await recordRead(deps, organization.id, { action: 'export', noun: 'suppression', path: 'suppressions' });
    reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="suppressions.csv"')
      .serializer((text: string) => text);
    const rows = isHead ? [] : suppressions.exportSuppressions(deps, organization.id);
    return reply.send(Readable.from(rows, { objectMode: false })) as never;
  },
});
