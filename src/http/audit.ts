import { Readable } from 'node:stream';
import { type Static, Type } from 'typebox';
import * as audit from '../services/audit.ts';
import { list, plain } from './route.ts';

const AuditEntry = Type.Object(
  {
    id: Type.Integer(),
    at: Type.String({ format: 'date-time' }),
    actor: Type.Object({
      kind: Type.Enum(['key', 'account', 'command', 'visitor'], { description: 'A visitor is not signed in.' }),
      id: Type.Union([Type.String(), Type.Null()]),
      name: Type.String({ description: 'As it was called then.' }),
    }),
    action: Type.String({ description: 'create, update, delete, read, export, sign in, sign in failed, …' }),
    noun: Type.String({ description: 'organization, channel, user, key, …' }),
    path: Type.String({ description: 'Slugs and names below the organization: shop/web/order-paid/receipt.' }),
    before: Type.Unknown({ description: 'Of an update, the fields that differ. Secrets are never shown.' }),
    after: Type.Unknown(),
    origin: Type.Union([Type.String(), Type.Null()], { description: 'Network address of the caller.' }),
    request_id: Type.Union([Type.String(), Type.Null()]),
  },
  { $id: 'AuditEntry' },
);

const AuditFilter = Type.Object({
  noun: Type.Optional(Type.String({ maxLength: 255 })),
  action: Type.Optional(Type.String({ maxLength: 255 })),
  actor: Type.Optional(Type.String({ maxLength: 255, description: 'Name of the key or account.' })),
  path: Type.Optional(Type.String({ maxLength: 1_000, description: 'What the path begins with.' })),
  since: Type.Optional(Type.String({ format: 'date-time' })),
  until: Type.Optional(Type.String({ format: 'date-time' })),
});

function toFilter({ since, until, ...query }: Static<typeof AuditFilter>) {
  return { ...query, since: since ? new Date(since) : undefined, until: until ? new Date(until) : undefined };
}

const tag = 'Audit';

export const listAudit = list(['org'], {
  id: 'listAudit',
  summary: 'List audit entries',
  description: 'Who changed what, who signed in or failed to, and who read everything at once; the newest first.',
  tag,
  query: AuditFilter,
  item: AuditEntry,
  list: ({ deps, organization, query }, page) => audit.listAuditEntries(deps, organization.id, toFilter(query), page),
});

export const exportAudit = plain(['org'], {
  id: 'exportAudit',
  summary: 'Export audit entries',
  description: 'All that match, the newest first: a file of JSON lines, each an entry as the list shows it.',
  tag,
  status: 200,
  query: AuditFilter,
  produces: 'application/x-ndjson',
  answer: Type.String(),
  handle: async ({ deps, organization, query, request, reply }) => {
    const isHead = request.method === 'HEAD';
    if (!isHead)
      await audit.recordRead(deps, organization.id, { action: 'export', noun: 'audit', path: '', after: query });
    const name = `${organization.slug}-audit-${new Date().toISOString().slice(0, 10)}.jsonl`;
    reply
      .type('application/x-ndjson; charset=utf-8')
      .header('content-disposition', `attachment; filename="${name}"`)
      .serializer((text: string) => text);
    const lines = isHead ? [] : audit.exportAudit(deps, organization.id, toFilter(query));
    return reply.send(Readable.from(lines, { objectMode: false })) as never;
  },
});
