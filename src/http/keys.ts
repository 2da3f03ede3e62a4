import { Type } from 'typebox';
import * as keys from '../services/keys.ts';
import { plain, type Route } from './route.ts';
import { CreatedKey, Key, NewKey, RevokeKey } from './schemas.ts';

const tag = 'Keys';

export const keyRoutes: Route[] = [
  plain({
    method: 'GET',
    path: '/api/o/:org/k/',
    permission: 'key:read',
    id: 'listKeys',
    summary: 'List keys',
    tag,
    status: 200,
    answer: Type.Array(Key),
    handle: async ({ deps, organization }) => {
      const rows = await keys.listKeys(deps.db, organization.id);
      return rows.map(row => ({
        ...row,
        created_at: row.created_at.toISOString(),
        expires_at: row.expires_at?.toISOString() ?? null,
        revoked_at: row.revoked_at?.toISOString() ?? null,
        last_used_at: row.last_used_at?.toISOString() ?? null,
      }));
    },
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/k/',
    permission: 'key:write',
    id: 'createKey',
    summary: 'Create key',
    description: 'The key itself is in this answer and nowhere else. Nobody can grant a permission that they lack.',
    tag,
    status: 201,
    body: NewKey,
    answer: CreatedKey,
    handle: async ({ deps, organization, body, caller }) => {
      const input = { ...body, expires_at: body.expires_at ? new Date(body.expires_at) : null };
      const { id, key } = await keys.createKey(deps, organization.slug, input, caller.permissions);
      return { id, name: body.name, key };
    },
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/k/revoke/',
    permission: 'key:write',
    id: 'revokeKey',
    summary: 'Revoke key',
    description: 'Refused everywhere within a second.',
    tag,
    status: 200,
    body: RevokeKey,
    answer: Type.Object({ revoked: Type.String() }),
    handle: async ({ deps, organization, body }) => {
      await keys.revokeKey(deps, organization.id, body.key);
      return { revoked: body.key };
    },
  }),
];
