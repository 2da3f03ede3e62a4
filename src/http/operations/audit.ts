import { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as audit from '../../services/operations/audit.ts';
import { endpoints } from '../server/route.ts';
import { nullable, nullableText, timestamp } from '../server/schemas.ts';

const AuditEntry = Type.Object(
  {
    id: Type.Integer(),
    at: timestamp,
    actor: Type.Object({
      kind: Type.Enum(['key', 'account', 'command', 'visitor'], {
        description: '`visitor`: a person who is not signed in.',
      }),
      id: nullableText,
      name: Type.String({ description: 'Name at the time of the entry.' }),
    }),
    action: Type.String({
      description: '`create`, `update`, `delete`, `read`, `export`, `sign in`, `sign in failed`, …',
    }),
    noun: Type.String({ description: '`organization`, `channel`, `user`, `key`, …' }),
    path: Type.String({
      description: 'Slugs and names below the organization, such as `shop/web/order-paid/receipt`.',
    }),
    before: Type.Unknown({
      description: 'Previous state; for an update, only the fields that changed. Secrets are never shown.',
    }),
    after: Type.Unknown({ description: 'New state, in the same form.' }),
    origin: nullable(Type.String(), 'IP address of the caller.'),
    request_id: nullableText,
  },
  { $id: 'AuditEntry' },
);

const AuditFilter = Type.Object({
  noun: optionalString({ maxLength: 255 }),
  action: optionalString({ maxLength: 255 }),
  actor: optionalString({ maxLength: 255, description: 'Name of the API key, or email of the account.' }),
  path: optionalString({ maxLength: 1_000, description: 'Prefix of the path.' }),
  since: optionalString({ format: 'date-time' }),
  until: optionalString({ format: 'date-time' }),
});

function toFilter({ since, until, ...query }: Static<typeof AuditFilter>) {
  return { ...query, since: since ? new Date(since) : undefined, until: until ? new Date(until) : undefined };
}

const { list, plain } = endpoints('Audit');

export const listAudit = list(['org'], {
  id: 'listAudit',
  readsReplica: true,
  summary: 'List audit entries',
  description: 'Returns changes, sign-ins, failed sign-ins and bulk reads of personal data, newest first.',
  query: AuditFilter,
  item: AuditEntry,
  list: ({ deps, organization, query }, page) => audit.listAuditEntries(deps, organization.id, toFilter(query), page),
});

export const exportAudit = plain(['org'], {
  id: 'exportAudit',
  readsReplica: true,
  summary: 'Export audit entries',
  description:
    'Returns all matching entries, newest first, as a file of JSON lines. Each line has the same form as in the list.',
  query: AuditFilter,
  produces: 'application/x-ndjson',
  answer: Type.String(),
  handle: async ({ deps, organization, query, request, reply }) => {
    const isHead = request.method === 'HEAD';
    if (!isHead)
      await audit.recordRead(deps, organization.id, { action: 'export', noun: 'audit', path: '', after: query });
    const name = `${organization.slug}-audit-${new Date(currentTime()).toISOString().slice(0, 10)}.jsonl`;
    reply
      .type('application/x-ndjson; charset=utf-8')
      .header('content-disposition', `attachment; filename="${name}"`)
      .serializer((text: string) => text);
    const lines = isHead ? [] : audit.exportAudit(deps, organization.id, toFilter(query));
    return reply.send(Readable.from(lines, { objectMode: false })) as never;
  },
});
