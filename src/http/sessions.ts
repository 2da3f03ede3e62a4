import { Type } from 'typebox';
import { invalid } from '../core/errors.ts';
import { passwordLength } from '../core/passwords.ts';
import { roles } from '../core/roles.ts';
import { limits } from '../core/text.ts';
import * as sessions from '../services/sessions.ts';
import * as signingIn from '../services/sign-in.ts';
import { version } from '../version.ts';
import { clearSession, readCookie, setSession, siteOf, visitorOf } from './cookie.ts';
import { type Call, list, plain } from './route.ts';
import { closed, moment } from './schemas.ts';

const tag = 'Session';

export const Session = Type.Object(
  {
    account: Type.Object({
      id: Type.Integer(),
      email: Type.String(),
      name: Type.String(),
      admin: Type.Boolean({ description: 'Reaches every organization and may create them.' }),
      two_factor: Type.Boolean({
        description: 'Has an authenticator app or a passkey, or signed in by the identity provider.',
      }),
    }),
    organizations: Type.Array(
      Type.Object({
        slug: Type.String(),
        name: Type.String(),
        role: Type.Enum([...roles]),
        permissions: Type.Array(Type.String()),
        two_factor_required: Type.Boolean({
          description: 'Whoever is without two-factor authentication gets 403 `session.two_factor_required` there.',
        }),
      }),
    ),
    csrf_token: Type.String({ description: 'For the header `x-csrf-token` of whatever changes something.' }),
  },
  { $id: 'Session' },
);

export const password = Type.String({ maxLength: passwordLength.most * 4 });
export const personName = Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' });

export const code = Type.String({
  minLength: 6,
  maxLength: 64,
  description: 'Six digits of the authenticator app, or a recovery code.',
});
/** What the browser was told to send back. */
export const sealed = Type.String({ minLength: 1, maxLength: 4_096 });

const bytes = (most: number) => Type.String({ minLength: 1, maxLength: most, pattern: '^[A-Za-z0-9_-]+$' });
const PasskeyAnswer = Type.Object(
  {
    id: bytes(2_048),
    rawId: bytes(2_048),
    type: Type.String(),
    response: Type.Object(
      {
        clientDataJSON: bytes(8_192),
        authenticatorData: bytes(8_192),
        signature: bytes(8_192),
        userHandle: Type.Optional(Type.Union([Type.String({ maxLength: 256 }), Type.Null()])),
      },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true, description: 'A `PublicKeyCredential` as its `toJSON()` writes it.' },
);

/** Whoever was signed in here before is so no longer. */
async function enter(call: Call, opened: sessions.Opened) {
  const { deps, request } = call;
  const before = readCookie(request);
  if (before) await sessions.forgetSession(deps, before);
  setSession(call, opened);
  return sessions.describeSession(deps, opened.session);
}

const ListedSession = Type.Object(
  {
    id: Type.Integer(),
    created_at: moment,
    last_used_at: moment,
    user_agent: Type.Union([Type.String(), Type.Null()]),
    origin: Type.Union([Type.String(), Type.Null()], { description: 'Network address that it was opened from.' }),
    method: Type.Enum(['password', 'passkey', 'oidc']),
    current: Type.Boolean({ description: 'Whether it is the one that asks.' }),
  },
  { $id: 'ListedSession' },
);

export const listSessionOptions = plain([], {
  id: 'listSessionOptions',
  summary: 'List ways to sign in',
  tag,
  status: 200,
  answer: Type.Object(
    {
      password: Type.Boolean(),
      oidc: Type.Union([Type.Object({ name: Type.String() }), Type.Null()], {
        description: 'An identity provider, if there is one: `GET /api/session/oidc/` leads to it.',
      }),
      password_reset: Type.Boolean({ description: 'Whether `POST /api/password-reset/` sends mails.' }),
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
    '`second_factor` (`token`, `methods`, and as `passkey` the options for the browser): send it to ' +
    '`POST /api/session/second-factor/`. With `code` both go at once. After several wrong passwords in a row, 429 for a ' +
    'while; the answers are the same whether or not there is such an account. What strangers guess locks out neither a ' +
    'device that has signed in before, nor a code, nor a passkey.',
  tag,
  status: 200,
  body: Type.Object(
    { email: Type.String({ minLength: 1, maxLength: limits.email }), password, code: Type.Optional(code) },
    { $id: 'SignIn', ...closed },
  ),
  answer: Session,
  handle: async call =>
    enter(call, await signingIn.signIn(call.deps, call.body, visitorOf(call.request), siteOf(call))),
});

export const finishSignIn = plain([], {
  id: 'finishSignIn',
  summary: 'Finish signing in',
  description:
    'With the `token` of the first step, and either a `code` (of the authenticator app, or a recovery code) or what the ' +
    'browser answered for the passkey.',
  tag,
  status: 200,
  body: Type.Object(
    { token: sealed, code: Type.Optional(code), passkey: Type.Optional(PasskeyAnswer) },
    { $id: 'SecondFactor', ...closed },
  ),
  answer: Session,
  handle: async call => {
    const { deps, request, body } = call;
    if ((body.code === undefined) === (body.passkey === undefined)) {
      throw invalid({ code: ['is needed, or a passkey: one of the two'] });
    }
    return enter(call, await signingIn.finishSignIn(deps, body, visitorOf(request), siteOf(call)));
  },
});

export const beginPasskeySignIn = plain([], {
  id: 'beginPasskeySignIn',
  summary: 'Begin to sign in with a passkey',
  description: 'What `navigator.credentials.get` takes.',
  tag,
  status: 200,
  problems: [409],
  answer: Type.Object({ token: sealed, options: Type.Object({}, { additionalProperties: true }) }),
  handle: call => signingIn.beginPasskey(call.deps, siteOf(call)) as never,
});

export const signInWithPasskey = plain([], {
  id: 'signInWithPasskey',
  summary: 'Sign in with a passkey',
  description: 'Without a password: the device must have checked a fingerprint, a face or a PIN.',
  tag,
  status: 200,
  problems: [409],
  body: Type.Object({ token: sealed, response: PasskeyAnswer }, { $id: 'PasskeySignIn', ...closed }),
  answer: Session,
  handle: async call =>
    enter(call, await signingIn.signInWithPasskey(call.deps, call.body, visitorOf(call.request), siteOf(call))),
});

export const confirmSession = plain([], {
  id: 'confirmSession',
  summary: 'Confirm that it is you',
  description:
    'For the next 15 minutes, what answers 403 `session.unconfirmed` else: changing how the account signs in. A ' +
    'session that was just opened needs no confirmation.',
  tag,
  status: 200,
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
  description: 'Who is signed in, and what they may do where.',
  tag,
  status: 200,
  answer: Session,
  handle: ({ deps, session }) => sessions.describeSession(deps, session!),
});

export const updateSession = plain([], {
  id: 'updateSession',
  summary: 'Change own name',
  tag,
  status: 200,
  body: Type.Object({ name: personName }, { $id: 'SessionUpdate', ...closed }),
  answer: Session,
  handle: async ({ deps, session, body }) =>
    sessions.describeSession(deps, await sessions.rename(deps, session!, body.name)),
});

export const signOut = plain([], {
  id: 'signOut',
  summary: 'Sign out',
  tag,
  status: 200,
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
  description: 'Ends every other session of the account.',
  tag,
  status: 200,
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
  tag,
  item: ListedSession,
  list: async ({ deps, session }, page) =>
    (await sessions.listSessions(deps, session!, page)).map(({ created_at, last_used_at, method, ...row }) => ({
      ...row,
      method: method as sessions.SignInMethod,
      created_at: created_at.toISOString(),
      last_used_at: last_used_at.toISOString(),
    })),
});

export const endOtherSessions = plain([], {
  id: 'endOtherSessions',
  summary: 'End all other sessions',
  tag,
  status: 200,
  answer: Type.Object({ ended: Type.Integer() }),
  handle: async ({ deps, session }) => ({ ended: await sessions.endOtherSessions(deps, session!) }),
});

export const endSession = plain(['session'], {
  id: 'endSession',
  summary: 'End session',
  description: 'One of your own, everywhere within a second.',
  tag,
  status: 200,
  answer: Type.Object({ ended: Type.Integer() }),
  handle: async call => {
    if (await sessions.endSession(call.deps, call.session!, call.sessionId)) clearSession(call);
    return { ended: 1 };
  },
});
