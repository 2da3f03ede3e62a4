import { Type } from 'typebox';
import * as queries from '../../db/identity/keys.ts';
import { currentTime } from '../../lib/time/clock.ts';
import * as keys from '../../services/identity/keys.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { type Call, endpoints } from '../server/route.ts';
import { CreatedKey, Key, KeyUpdate, NewKey, RevokeKey, RotatedKey, RotateKey } from './schemas-keys.ts';

const { deletion, plain } = endpoints('Keys');

/** Excludes the time of last use from the ETag, because using a key does not change it. */
function tagOf(row: keys.KeyView) {
  return { ...row, last_used_at: null };
}

function answer(call: Call, row: keys.KeyView) {
  return withEtag(call, row, tagOf(row));
}

function requireUnchanged(call: Call) {
  return ifMatch(call, tagOf);
}

export const listKeys = plain(['org'], {
  id: 'listKeys',
  summary: 'List keys',
  answer: Type.Array(Key),
  handle: ({ deps, organization }) => queries.listKeys(deps.db, organization.id),
});

export const createKey = plain(['org'], {
  id: 'createKey',
  summary: 'Create key',
  description:
    'The key itself is only returned in this response. It cannot have permissions that the caller lacks and, if the caller ' +
    'is a key, a later expiry, a higher rate or other networks. `expires_at` is required if the organization limits the ' +
    'lifetime of keys.',
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
  answer: Key,
  handle: async call => answer(call, await keys.getKey(call.deps, call.organization.id, call.key.id)),
});

export const updateKey = plain(['org', 'key'], {
  id: 'updateKey',
  summary: 'Update key',
  description:
    'Absent fields stay unchanged; null removes a limit or the expiry. A key with permissions that the caller lacks cannot ' +
    'be changed, only revoked. If the caller is a key, it cannot set wider limits than its own, not even for itself.',
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
  status: 201,
  problems: [409],
  body: RotateKey,
  answer: RotatedKey,
  handle: ({ deps, organization, key, body, caller }) =>
    keys.rotateKey(deps, organization.id, key.id, body.overlap ?? '24h', caller, currentTime()),
});

export const deleteKey = deletion(['org', 'key'], {
  id: 'deleteKey',
  summary: 'Delete key',
  description: 'Only a key that was revoked or has expired can be deleted.',
  problems: [409],
  delete: (call, { dryRun }) => {
    const options = { dryRun, now: currentTime(), check: requireUnchanged(call) };
    return keys.deleteKey(call.deps, call.organization.id, call.key.id, options);
  },
});
