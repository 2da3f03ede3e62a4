import { Type } from 'typebox';
import * as changes from '../services/key-changes.ts';
import * as keys from '../services/keys.ts';
import { etagOf, ifMatch } from './etag.ts';
import { type Call, plain } from './route.ts';
import { Deleted, DeleteQuery } from './schemas.ts';
import { CreatedKey, Key, KeyUpdate, NewKey, RevokeKey, RotatedKey, RotateKey } from './schemas-keys.ts';

const tag = 'Keys';

function show(row: changes.KeyView) {
  return {
    ...row,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

/** When it was last used is no change of the key: the tag leaves it out. */
function tagOf(row: changes.KeyView) {
  return { ...show(row), last_used_at: null };
}

function answer(call: Call, row: changes.KeyView) {
  call.reply.header('etag', etagOf(tagOf(row)));
  return show(row);
}

function unchanged(call: Call) {
  return ifMatch(call, tagOf);
}

export const listKeys = plain(['org'], {
  id: 'listKeys',
  summary: 'List keys',
  tag,
  status: 200,
  answer: Type.Array(Key),
  handle: async ({ deps, organization }) => {
    const rows = await keys.listKeys(deps, organization.id);
    return rows.map(show);
  },
});

export const createKey = plain(['org'], {
  id: 'createKey',
  summary: 'Create key',
  description:
    'The key itself is in this answer and nowhere else. Nobody can grant a permission that they lack. `expires_at` is ' +
    'required where the settings of the organization say how long keys may live.',
  tag,
  status: 201,
  body: NewKey,
  answer: CreatedKey,
  handle: async ({ deps, organization, body, caller }) => {
    const input = { ...body, expires_at: body.expires_at ? new Date(body.expires_at) : null };
    const { id, key } = await keys.createKey(deps, organization.slug, input, caller.permissions);
    return { id, name: body.name, key };
  },
});

export const revokeKey = plain(['org'], {
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
});

export const retrieveKey = plain(['org', 'key'], {
  id: 'retrieveKey',
  summary: 'Retrieve key',
  tag,
  status: 200,
  answer: Key,
  handle: async call => answer(call, await changes.getKey(call.deps, call.organization.id, call.key.id)),
});

export const updateKey = plain(['org', 'key'], {
  id: 'updateKey',
  summary: 'Update key',
  description:
    'What is absent stays as it is; null takes a limit or an expiry away. Nobody can change a key that has a permission ' +
    'that they lack; revoking it is always possible.',
  tag,
  status: 200,
  problems: [409],
  body: KeyUpdate,
  answer: Key,
  handle: async call => {
    const { deps, organization, key, body, caller } = call;
    const { expires_at, ...rest } = body;
    const update = expires_at === undefined ? rest : { ...rest, expires_at: expires_at ? new Date(expires_at) : null };
    const { permissions } = caller;
    return answer(call, await changes.updateKey(deps, organization.id, key.id, update, permissions, unchanged(call)));
  },
});

export const rotateKey = plain(['org', 'key'], {
  id: 'rotateKey',
  summary: 'Rotate key',
  description:
    'A new key with the name and permissions of this one, which goes on working for the time of `overlap` under another ' +
    'name. The new key itself is in this answer and nowhere else.',
  tag,
  status: 201,
  problems: [409],
  body: RotateKey,
  answer: RotatedKey,
  handle: async ({ deps, organization, key, body, caller: granter }) => {
    const { overlap = '24h' } = body;
    const now = Date.now();
    const made = await changes.rotateKey(deps, organization.id, key.id, overlap, granter.permissions, now);
    return { ...made, previous: { id: made.previous.id, expires_at: made.previous.expires_at.toISOString() } };
  },
});

export const deleteKey = plain(['org', 'key'], {
  id: 'deleteKey',
  summary: 'Delete key',
  description: 'One that was revoked or has expired.',
  tag,
  status: 200,
  problems: [409],
  query: DeleteQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, key, query } = call;
    const { dry_run = false } = query;
    const how = { dryRun: dry_run, now: Date.now(), check: unchanged(call) };
    return {
      deleted: await changes.deleteKey(deps, organization.id, key.id, how),
      ...(dry_run && { dry_run }),
    };
  },
});
