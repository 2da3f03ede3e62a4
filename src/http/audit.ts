import { Type } from 'typebox';
import { listAuditEntries } from '../services/audit.ts';
import { list, type Route } from './route.ts';

const AuditEntry = Type.Object(
  {
    id: Type.Integer(),
    at: Type.String({ format: 'date-time' }),
    actor: Type.Object({
      kind: Type.Enum(['key', 'account', 'command']),
      id: Type.Union([Type.String(), Type.Null()]),
      name: Type.String({ description: 'As it was called then.' }),
    }),
    action: Type.String({ description: 'create, update, delete, pause, resume, revoke, …' }),
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

export const auditRoutes: Route[] = [
  list({
    path: '/api/o/:org/audit/',
    permission: 'audit:read',
    id: 'listAudit',
    summary: 'List audit entries',
    description: 'Who changed what, the newest first.',
    tag: 'Audit',
    query: AuditFilter,
    item: AuditEntry,
    list: async ({ deps, organization, query: { since, until, ...query } }, page) => {
      const filter = {
        ...query,
        since: since ? new Date(since) : undefined,
        until: until ? new Date(until) : undefined,
      };
      const rows = await listAuditEntries(deps.db, organization.id, filter, page);
      return rows.map(({ actor_kind, actor_id, actor_name, at, ...entry }) => ({
        ...entry,
        at: at.toISOString(),
        actor: { kind: actor_kind as 'key', id: actor_id, name: actor_name },
      }));
    },
  }),
];
