/** Schemas of API keys. */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { limits } from '../../core/text/text.ts';
import { closed, nullable, nullableText, nullableTimestamp, timestamp } from '../server/schemas.ts';

const rate =
  'Limit per API process. A request counts once for every started 16 KiB of its body; if that exceeds what is left, the ' +
  'following requests are delayed. Keys that were created or rotated with a limited key share its limit. Null means no limit.';

export const Key = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    project: nullableText,
    application: nullableText,
    permissions: Type.Array(Type.String()),
    requests_per_second: Type.Union([Type.Integer(), Type.Null()], { description: rate }),
    allowed_networks: nullable(Type.Array(Type.String()), 'Null allows any address.'),
    created_at: timestamp,
    expires_at: nullableTimestamp,
    revoked_at: nullableTimestamp,
    last_used_at: nullableTimestamp,
    paused: Type.Boolean({ description: 'Whether what it triggers is held instead of sent.' }),
    paused_reason: nullableText,
  },
  { $id: 'Key' },
);

export const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' }),
    project: optionalString({ description: 'Limits the key to this project.' }),
    application: optionalString({ description: 'Limits the key to this application of the project.' }),
    permissions: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
    expires_at: Type.Optional(nullableTimestamp),
    requests_per_second: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()], { description: rate }),
    ),
    allowed_networks: Type.Optional(
      nullable(
        Type.Array(Type.String({ maxLength: 43 }), { minItems: 1, maxItems: 100 }),
        'Addresses and networks that the key may be used from, such as 203.0.113.7 or 10.0.0.0/8. Null allows any address.',
      ),
    ),
  },
  { $id: 'NewKey', ...closed },
);

export const CreatedKey = Type.Object(
  { id: Type.String(), name: Type.String(), key: Type.String({ description: 'Shown only once.' }) },
  { $id: 'CreatedKey' },
);

export const KeyUpdate = Type.Object(
  {
    name: Type.Optional(NewKey.properties.name),
    requests_per_second: NewKey.properties.requests_per_second,
    allowed_networks: NewKey.properties.allowed_networks,
    expires_at: NewKey.properties.expires_at,
  },
  { $id: 'KeyUpdate', ...closed },
);

export const RotateKey = Type.Object(
  {
    overlap: optionalString({ maxLength: 12, default: '24h', description: 'How long the old key keeps working.' }),
  },
  { $id: 'RotateKey', ...closed },
);

export const RotatedKey = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    key: Type.String({ description: 'Shown only once.' }),
    previous: Type.Object({ id: Type.String(), expires_at: timestamp }),
  },
  { $id: 'RotatedKey' },
);

export const RevokeKey = Type.Object(
  { key: Type.String({ minLength: 1, maxLength: limits.name, description: 'Id or name of the key.' }) },
  { $id: 'RevokeKey', ...closed },
);
