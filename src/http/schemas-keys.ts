/** The shapes of keys. */
import { Type } from 'typebox';
import { limits } from '../core/text.ts';
import { closed, maybeMoment, maybeText, moment } from './schemas.ts';

export const Key = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    project: maybeText,
    application: maybeText,
    permissions: Type.Array(Type.String()),
    requests_per_second: Type.Union([Type.Integer(), Type.Null()]),
    allowed_networks: Type.Union([Type.Array(Type.String()), Type.Null()], { description: 'Null: from everywhere.' }),
    created_at: moment,
    expires_at: maybeMoment,
    revoked_at: maybeMoment,
    last_used_at: maybeMoment,
  },
  { $id: 'Key' },
);

export const NewKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' }),
    project: Type.Optional(Type.String({ description: 'Narrows the key to this project.' })),
    application: Type.Optional(Type.String({ description: 'Narrows the key to this application of the project.' })),
    permissions: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }),
    expires_at: Type.Optional(maybeMoment),
    requests_per_second: Type.Optional(Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000 }), Type.Null()])),
    allowed_networks: Type.Optional(
      Type.Union([Type.Array(Type.String({ maxLength: 43 }), { minItems: 1, maxItems: 100 }), Type.Null()], {
        description:
          'Addresses and networks from which the key may be used, such as 203.0.113.7 or 10.0.0.0/8. Null: from everywhere.',
      }),
    ),
  },
  { $id: 'NewKey', ...closed },
);

export const CreatedKey = Type.Object(
  { id: Type.String(), name: Type.String(), key: Type.String({ description: 'Shown this once.' }) },
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
    overlap: Type.Optional(
      Type.String({ maxLength: 12, default: '24h', description: 'How long the old one still works.' }),
    ),
  },
  { $id: 'RotateKey', ...closed },
);

export const RotatedKey = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    key: Type.String({ description: 'Shown this once.' }),
    previous: Type.Object({ id: Type.String(), expires_at: moment }),
  },
  { $id: 'RotatedKey' },
);

export const RevokeKey = Type.Object(
  { key: Type.String({ minLength: 1, maxLength: limits.name, description: 'Its id or name.' }) },
  { $id: 'RevokeKey', ...closed },
);
