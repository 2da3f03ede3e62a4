import { Type } from 'typebox';
import * as queries from '../../db/identity/keys.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { showPause } from '../../services/configuration/pauses.ts';
import * as keys from '../../services/identity/keys.ts';
import { etagOf, ifMatch } from '../server/etag.ts';
import { type Call, plain } from '../server/route.ts';
import { Deleted, DeleteQuery } from '../server/schemas.ts';
import { CreatedKey, Key, KeyUpdate, NewKey, RevokeKey, RotatedKey, RotateKey } from './schemas-keys.ts';

const tag = 'Keys';

function show({ paused_at, paused_reason, ...row }: keys.KeyView) {
  return {
    ...row,
    ...showPause({ paused_at, paused_reason }),
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

/** Excludes the time of last use from the ETag, because using a key does not change it. */
function tagOf(row: keys.KeyView) {
  return { ...show(row), last_used_at: null };
}

function answer(call: Call, row: keys.KeyView) {
  call.reply.header('etag', etagOf(tagOf(row)));
  return show(row);
}

function requireUnchanged(call: Call) {
  return ifMatch(call, tagOf);
}

export const listKeys = plain(['org'], {
  id: 'listKeys',
  summary: 'List keys',
  tag,
  status: 200,
  answer: Type.Array(Key),
  handle: async ({ deps, organization }) => {
    const rows = await queries.listKeys(deps.db, organization.id);
    return rows.map(show);
  },
});

export const createKey = plain(['org'], {
  id: 'createKey',
  summary: 'Create key',
  description:
    'The key itself is only returned in this response. It cannot have permissions that the caller lacks and, if the caller ' +
    'is a key, a later expiry, a higher rate or other networks. `expires_at` is required if the organization limits the ' +
    'lifetime of keys.',
  tag,
  status: 201,
  problems: [409],
  body: NewKey,
  answer: CreatedKey,
  handle: async ({ deps, organization, body, caller }) => {
    const input = { ...body, expires_at: body.expires_at ? new Date(body.expires_at) : null };
    const { id, key } = await keys.createKey(deps, organization.slug, input, caller);
    return { id, name: body.name, key };
  },
});

export const revokeKey = plain(['org'], {
  id: 'revokeKey',
  summary: 'Revoke key',
  description: 'The key stops working within a second.',
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
  handle: async call => answer(call, await keys.getKey(call.deps, call.organization.id, call.key.id)),
});

export const updateKey = plain(['org', 'key'], {
  id: 'updateKey',
  summary: 'Update key',
  description:
    'Absent fields stay unchanged; null removes a limit or the expiry. A key with permissions that the caller lacks cannot ' +
    'be changed, only revoked. If the caller is a key, it cannot set wider limits than its own, not even for itself.',
  tag,
  status: 200,
  problems: [409],
  body: KeyUpdate,
  answer: Key,
  handle: async call => {
    const { deps, organization, key, body, caller } = call;
    const { expires_at, ...rest } = body;
    const update = expires_at === undefined ? rest : { ...rest, expires_at: expires_at ? new Date(expires_at) : null };
    return answer(call, await keys.updateKey(deps, organization.id, key.id, update, caller, requireUnchanged(call)));
  },
});

export const rotateKey = plain(['org', 'key'], {
  id: 'rotateKey',
  summary: 'Rotate key',
  description:
    'Creates a new key with the name, permissions and limits of this one. The old key keeps working under another name for ' +
    'the duration of `overlap`. The new key itself is only returned in this response. If the caller is a key, it cannot ' +
    'rotate a key that has more than itself, and the new key expires no later than the caller.',
  tag,
  status: 201,
  problems: [409],
  body: RotateKey,
  answer: RotatedKey,
  handle: async ({ deps, organization, key, body, caller }) => {
    const { overlap = '24h' } = body;
    const now = currentTime();
    const rotated = await keys.rotateKey(deps, organization.id, key.id, overlap, caller, now);
    return { ...rotated, previous: { id: rotated.previous.id, expires_at: rotated.previous.expires_at.toISOString() } };
  },
});

export const deleteKey = plain(['org', 'key'], {
  id: 'deleteKey',
  summary: 'Delete key',
  description: 'Only a key that was revoked or has expired can be deleted.',
  tag,
  status: 200,
  problems: [409],
  query: DeleteQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, key, query } = call;
    const { dry_run = false } = query;
    const options = { dryRun: dry_run, now: currentTime(), check: requireUnchanged(call) };
    return {
      deleted: await keys.deleteKey(deps, organization.id, key.id, options),
      ...(dry_run && { dry_run }),
    };
  },
});
