/** Second factors of the signed-in account. */
import { Type } from 'typebox';
import { limits } from '../../core/text/text.ts';
import * as passkeys from '../../services/identity/sign-in/passkeys.ts';
import * as twoFactor from '../../services/identity/sign-in/two-factor.ts';
import { siteOf } from '../server/cookie.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullable, nullableTimestamp, timestamp } from '../server/schemas.ts';
import { sealed } from './sessions.ts';

const { plain } = endpoints('Two-factor');

const passkeyFields = {
  id: Type.Integer(),
  name: Type.String(),
  created_at: timestamp,
  last_used_at: nullableTimestamp,
};
const Passkey = Type.Object(passkeyFields, { $id: 'Passkey' });
const passkey = Type.Object(passkeyFields);
const passkeyName = Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' });
const RecoveryCodes = Type.Array(Type.String(), { description: 'Each code works once. Shown only once.' });
const maybeCodes = nullable(
  RecoveryCodes,
  'Ten codes, returned with the first second factor only. Each code works once. Shown only once.',
);

export const retrieveTwoFactor = plain([], {
  id: 'retrieveTwoFactor',
  summary: 'Retrieve second factors',
  answer: Type.Object(
    {
      totp: nullable(Type.Object({ created_at: timestamp }), 'The authenticator app.'),
      passkeys: Type.Array(passkey),
      recovery_codes: Type.Integer({ description: 'How many codes are left.' }),
    },
    { $id: 'TwoFactor' },
  ),
  handle: async ({ deps, session }) => {
    const { totp, ...found } = await twoFactor.describeTwoFactor(deps, session!);
    return { totp: totp && { created_at: totp }, ...found };
  },
});

export const beginTotp = plain([], {
  id: 'beginTotp',
  summary: 'Begin adding an authenticator app',
  description: 'Nothing changes until you confirm a code of the app with `POST /api/session/totp/confirm/`.',
  answer: Type.Object(
    {
      token: sealed,
      secret: Type.String({ description: 'The secret in base32, to type into the app.' }),
      uri: Type.String({ description: 'The content of the QR code: `otpauth://totp/…`' }),
    },
    { $id: 'TotpEnrollment' },
  ),
  handle: ({ deps, session }) => twoFactor.beginTotp(deps, session!),
});

export const confirmTotp = plain([], {
  id: 'confirmTotp',
  summary: 'Add authenticator app',
  description: 'Replaces a previous authenticator app. The first second factor ends all other sessions.',
  body: Type.Object(
    { token: sealed, code: Type.String({ minLength: 6, maxLength: 12, description: 'The current code of the app.' }) },
    { $id: 'TotpConfirmation', ...closed },
  ),
  answer: Type.Object({ recovery_codes: maybeCodes }),
  handle: async ({ deps, session, body }) => ({
    recovery_codes: await twoFactor.confirmTotp(deps, session!, body),
  }),
});

export const removeTotp = plain([], {
  id: 'removeTotp',
  summary: 'Remove authenticator app',
  answer: Type.Object({ removed: Type.Boolean() }),
  handle: async ({ deps, session }) => {
    await twoFactor.removeTotp(deps, session!);
    return { removed: true };
  },
});

export const beginPasskey = plain([], {
  id: 'beginPasskey',
  summary: 'Begin adding a passkey',
  description: 'Returns the options for `navigator.credentials.create`.',
  problems: [409],
  answer: Type.Object({ token: sealed, options: Type.Object({}, { additionalProperties: true }) }),
  handle: call => passkeys.beginRegistration(call.deps, call.session!, siteOf(call)) as never,
});

export const addPasskey = plain([], {
  id: 'addPasskey',
  summary: 'Add passkey',
  description: 'The first second factor ends all other sessions.',
  status: 201,
  problems: [409],
  body: Type.Object(
    {
      token: sealed,
      name: passkeyName,
      response: Type.Object(
        {
          id: Type.String({ maxLength: 2_048 }),
          rawId: Type.String({ maxLength: 2_048 }),
          type: Type.String(),
          response: Type.Object(
            { clientDataJSON: Type.String(), attestationObject: Type.String() },
            { additionalProperties: true },
          ),
        },
        { additionalProperties: true, description: 'The result of `PublicKeyCredential.toJSON()`.' },
      ),
    },
    { $id: 'NewPasskey', ...closed },
  ),
  answer: Type.Object({ passkey, recovery_codes: maybeCodes }),
  handle: call => passkeys.finishRegistration(call.deps, call.session!, siteOf(call), call.body),
});

export const updatePasskey = plain(['passkey'], {
  id: 'updatePasskey',
  summary: 'Rename passkey',
  body: Type.Object({ name: passkeyName }, { $id: 'PasskeyUpdate', ...closed }),
  answer: Passkey,
  handle: ({ deps, session, passkeyId, body }) => passkeys.renamePasskey(deps, session!, passkeyId, body.name),
});

export const removePasskey = plain(['passkey'], {
  id: 'removePasskey',
  summary: 'Remove passkey',
  answer: Type.Object({ removed: Type.Boolean() }),
  handle: async ({ deps, session, passkeyId }) => {
    await passkeys.removePasskey(deps, session!, passkeyId);
    return { removed: true };
  },
});

export const renewRecoveryCodes = plain([], {
  id: 'renewRecoveryCodes',
  summary: 'Renew recovery codes',
  description: 'Replaces the recovery codes. Previous codes stop working.',
  problems: [409],
  answer: Type.Object({ recovery_codes: RecoveryCodes }),
  handle: async ({ deps, session }) => ({ recovery_codes: await twoFactor.renewRecoveryCodes(deps, session!) }),
});
