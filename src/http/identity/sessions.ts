import { Type } from 'typebox';
import { invalid } from '../../core/errors.ts';
import { passwordLength } from '../../core/identity/passwords.ts';
import { roles } from '../../core/identity/roles.ts';
import { limits } from '../../core/text/text.ts';
import * as sessions from '../../services/identity/sessions.ts';
import * as signingIn from '../../services/identity/sign-in/sign-in.ts';
import { version } from '../../version.ts';
import { clearSession, readCookie, setSession, siteOf, visitorOf } from '../server/cookie.ts';
import { type Call, endpoints } from '../server/route.ts';
import { closed, nullable, nullableText, timestamp } from '../server/schemas.ts';

const { list, plain } = endpoints('Session');

export const Session = Type.Object(
  {
    account: Type.Object({
      id: Type.Integer(),
      email: Type.String(),
      name: Type.String(),
      admin: Type.Boolean({
        description: 'Instance admin: has access to every organization and can create organizations.',
      }),
      two_factor: Type.Boolean({
        description: 'Has an authenticator app or a passkey, or signed in with the identity provider.',
      }),
      has_password: Type.Boolean({
        description: 'False for an account that signs in only with the identity provider or a passkey.',
      }),
    }),
    organizations: Type.Array(
      Type.Object({
        slug: Type.String(),
        name: Type.String(),
        role: Type.Enum([...roles]),
        permissions: Type.Array(Type.String()),
        two_factor_required: Type.Boolean({
          description:
            'Accounts without two-factor authentication get 403 `session.two_factor_required` in this organization.',
        }),
      }),
    ),
    moved_organizations: Type.Array(
      Type.Object({
        slug: Type.String(),
        name: Type.String(),
        url: Type.String({ description: 'The public URL of the other cell.' }),
      }),
      { description: 'Organizations of the account that have moved to another cell of the installation.' },
    ),
    csrf_token: Type.String({
      description: 'Send it in the header `x-csrf-token` with every request that changes something.',
    }),
  },
  { $id: 'Session' },
);

export const password = Type.String({ maxLength: passwordLength.max * 4 });
export const accountName = Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' });

const code = Type.String({
  minLength: 6,
  maxLength: 64,
  description: 'The six digits of the authenticator app, or a recovery code.',
});
/** Encrypted state that the browser sends back. */
export const sealed = Type.String({ minLength: 1, maxLength: 4_096 });

const base64url = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' });
const PasskeyResponse = Type.Object(
  {
    id: base64url(2_048),
    rawId: base64url(2_048),
    type: Type.String(),
    response: Type.Object(
      {
        clientDataJSON: base64url(8_192),
        authenticatorData: base64url(8_192),
        signature: base64url(8_192),
        userHandle: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()])),
      },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true, description: 'The result of `PublicKeyCredential.toJSON()`.' },
);

/** Replaces the previous session of the browser, if there is one. */
async function replaceSession(call: Call, opened: sessions.OpenedSession) {
  const { deps, request } = call;
  const before = readCookie(request);
  if (before) await sessions.forgetSession(deps, before);
  setSession(call, opened);
  return sessions.describeSession(deps, opened.session);
}

const ListedSession = Type.Object(
  {
    id: Type.Integer(),
    created_at: timestamp,
    last_used_at: timestamp,
    user_agent: nullableText,
    origin: nullable(Type.String(), 'Network address that the session was opened from.'),
    method: Type.Enum(['password', 'passkey', 'oidc']),
    current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
  },
  { $id: 'ListedSession' },
);

export const listSessionOptions = plain([], {
  id: 'listSessionOptions',
  summary: 'List sign-in methods',
  answer: Type.Object(
    {
      password: Type.Boolean(),
      oidc: nullable(
        Type.Object({ name: Type.String() }),
        'The identity provider, if one is configured. `GET /api/session/oidc/` redirects to it.',
      ),
      password_reset: Type.Boolean({ description: 'Whether `POST /api/password-reset/` can send mail.' }),
      version: Type.String(),
    },
    { $id: 'SessionOptions' },
  ),
  handle: ({ deps: { signIn, mailer } }) => ({
    password: true,
    oidc: signIn.oidc ? { name: signIn.oidc.name } : null,
    password_reset: mailer !== undefined,
    version,
  }),
});

export const signIn = plain([], {
  id: 'signIn',
  summary: 'Sign in',
  description:
    'Sets the cookie `belfry_session`. An account with a second factor gets 401 `session.second_factor` with a member ' +
    '`second_factor` (`token`, `methods`, and in `passkey` the options for the browser): continue with ' +
    '`POST /api/session/second-factor/`. Send `code` to do both steps in one request. After several wrong passwords in a ' +
    'row, responds 429 for a while. The responses are the same whether or not the account exists. Failed attempts of ' +
    'others do not lock out a device that has signed in before, a sign-in with a code, or a passkey.',
  body: Type.Object(
    { email: Type.String({ minLength: 1, maxLength: limits.email }), password, code: Type.Optional(code) },
    { $id: 'SignIn', ...closed },
  ),
  answer: Session,
  handle: async call =>
    replaceSession(call, await signingIn.signIn(call.deps, call.body, visitorOf(call.request), siteOf(call))),
});

export const finishSignIn = plain([], {
  id: 'finishSignIn',
  summary: 'Finish signing in',
  description:
    'Send the `token` of the first step, and either a `code` (of the authenticator app, or a recovery code) or the ' +
    "browser's response for the passkey.",
  body: Type.Object(
    { token: sealed, code: Type.Optional(code), passkey: Type.Optional(PasskeyResponse) },
    { $id: 'SecondFactor', ...closed },
  ),
  answer: Session,
  handle: async call => {
    const { deps, request, body } = call;
    if ((body.code === undefined) === (body.passkey === undefined)) {
      throw invalid({ code: ['send either code or passkey'] });
    }
    return replaceSession(call, await signingIn.finishSignIn(deps, body, visitorOf(request), siteOf(call)));
  },
});

export const beginPasskeySignIn = plain([], {
  id: 'beginPasskeySignIn',
  summary: 'Begin sign-in with a passkey',
  description: 'Returns the options for `navigator.credentials.get`.',
  problems: [409],
  answer: Type.Object({ token: sealed, options: Type.Object({}, { additionalProperties: true }) }),
  handle: call => signingIn.beginPasskey(call.deps, siteOf(call)) as never,
});

export const signInWithPasskey = plain([], {
  id: 'signInWithPasskey',
  summary: 'Sign in with a passkey',
  description: 'Signs in without a password. The device must have verified the user by fingerprint, face or PIN.',
  problems: [409],
  body: Type.Object({ token: sealed, response: PasskeyResponse }, { $id: 'PasskeySignIn', ...closed }),
  answer: Session,
  handle: async call =>
    replaceSession(
      call,
      await signingIn.signInWithPasskey(call.deps, call.body, visitorOf(call.request), siteOf(call)),
    ),
});

export const confirmSession = plain([], {
  id: 'confirmSession',
  summary: 'Confirm identity',
  description:
    'For the next 15 minutes, allows changes to how the account signs in, which otherwise respond 403 ' +
    '`session.unconfirmed`. A session that was just opened needs no confirmation. An account without a password confirms with ' +
    'the identity provider instead: `GET /api/session/oidc/?confirm=true`.',
  body: Type.Object({ password }, { $id: 'SessionConfirmation', ...closed }),
  answer: Type.Object({ confirmed: Type.Boolean() }),
  handle: async ({ deps, session, body, request }) => {
    await sessions.confirmSession(deps, session!, body.password, visitorOf(request));
    return { confirmed: true };
  },
});

export const retrieveSession = plain([], {
  id: 'retrieveSession',
  summary: 'Retrieve session',
  description: 'Returns the signed-in account, its organizations and its permissions in each.',
  answer: Session,
  handle: ({ deps, session }) => sessions.describeSession(deps, session!),
});

export const updateSession = plain([], {
  id: 'updateSession',
  summary: 'Change own name',
  body: Type.Object({ name: accountName }, { $id: 'SessionUpdate', ...closed }),
  answer: Session,
  handle: async ({ deps, session, body }) =>
    sessions.describeSession(deps, await sessions.renameAccount(deps, session!, body.name)),
});

export const signOut = plain([], {
  id: 'signOut',
  summary: 'Sign out',
  answer: Type.Object({ signed_out: Type.Boolean() }),
  handle: async call => {
    await sessions.signOut(call.deps, call.session!);
    clearSession(call);
    return { signed_out: true };
  },
});

export const changePassword = plain([], {
  id: 'changePassword',
  summary: 'Change own password',
  description: 'Ends all other sessions of the account.',
  body: Type.Object({ current: password, password }, { $id: 'PasswordChange', ...closed }),
  answer: Session,
  handle: async ({ deps, session, body, request }) => {
    await sessions.changePassword(deps, session!, body, visitorOf(request));
    return sessions.describeSession(deps, session!);
  },
});

export const listSessions = list([], {
  id: 'listSessions',
  summary: 'List own sessions',
  item: ListedSession,
  list: async ({ deps, session }, page) =>
    (await sessions.listSessions(deps, session!, page)).map(row => ({
      ...row,
      method: row.method as sessions.SignInMethod,
    })),
});

export const endOtherSessions = plain([], {
  id: 'endOtherSessions',
  summary: 'End all other sessions',
  answer: Type.Object({ ended: Type.Integer() }),
  handle: async ({ deps, session }) => ({ ended: await sessions.endOtherSessions(deps, session!) }),
});

export const endSession = plain(['session'], {
  id: 'endSession',
  summary: 'End session',
  description: 'Ends one of your own sessions. It stops working within a second.',
  answer: Type.Object({ ended: Type.Integer() }),
  handle: async call => {
    if (await sessions.endSession(call.deps, call.session!, call.sessionId)) clearSession(call);
    return { ended: 1 };
  },
});
