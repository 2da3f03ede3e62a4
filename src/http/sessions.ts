import { Type } from 'typebox';
import { passwordLength } from '../core/passwords.ts';
import { roles } from '../core/roles.ts';
import { limits } from '../core/text.ts';
import * as sessions from '../services/sessions.ts';
import { version } from '../version.ts';
import { clearSession, readCookie, setSession, visitorOf } from './cookie.ts';
import { plain, type Route } from './route.ts';
import { closed } from './schemas.ts';

const tag = 'Session';

export const Session = Type.Object(
  {
    account: Type.Object({
      id: Type.Integer(),
      email: Type.String(),
      name: Type.String(),
      admin: Type.Boolean({ description: 'Reaches every organization and may create them.' }),
    }),
    organizations: Type.Array(
      Type.Object({
        slug: Type.String(),
        name: Type.String(),
        role: Type.Enum([...roles]),
        permissions: Type.Array(Type.String()),
      }),
    ),
    csrf_token: Type.String({ description: 'For the header `x-csrf-token` of whatever changes something.' }),
  },
  { $id: 'Session' },
);

export const password = Type.String({ maxLength: passwordLength.most * 4 });
export const personName = Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' });

export const sessionRoutes: Route[] = [
  plain({
    method: 'GET',
    path: '/api/session/options/',
    permission: 'public',
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
        version: Type.String(),
      },
      { $id: 'SessionOptions' },
    ),
    handle: ({ deps: { signIn } }) => ({
      password: true,
      oidc: signIn.oidc ? { name: signIn.oidc.name } : null,
      version,
    }),
  }),
  plain({
    method: 'POST',
    path: '/api/session/',
    permission: 'public',
    id: 'signIn',
    summary: 'Sign in',
    description:
      'Sets the cookie `belfry_session`. After several wrong passwords in a row, 429 for a while; the answers are the ' +
      'same whether or not there is such an account.',
    tag,
    status: 200,
    body: Type.Object(
      { email: Type.String({ minLength: 1, maxLength: limits.email }), password },
      { $id: 'SignIn', ...closed },
    ),
    answer: Session,
    handle: async call => {
      const { deps, request, body } = call;
      const opened = await sessions.signIn(deps, body, visitorOf(request));
      // Whoever was signed in here before is so no longer.
      const before = readCookie(request);
      if (before) await sessions.forgetSession(deps, before);
      setSession(call, opened);
      return sessions.describeSession(deps, opened.session);
    },
  }),
  plain({
    method: 'GET',
    path: '/api/session/',
    permission: 'account',
    id: 'retrieveSession',
    summary: 'Retrieve session',
    description: 'Who is signed in, and what they may do where.',
    tag,
    status: 200,
    answer: Session,
    handle: ({ deps, session }) => sessions.describeSession(deps, session!),
  }),
  plain({
    method: 'PATCH',
    path: '/api/session/',
    permission: 'account',
    id: 'updateSession',
    summary: 'Change own name',
    tag,
    status: 200,
    body: Type.Object({ name: personName }, { $id: 'SessionUpdate', ...closed }),
    answer: Session,
    handle: async ({ deps, session, body }) =>
      sessions.describeSession(deps, await sessions.rename(deps, session!, body.name)),
  }),
  plain({
    method: 'DELETE',
    path: '/api/session/',
    permission: 'account',
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
  }),
  plain({
    method: 'POST',
    path: '/api/session/password/',
    permission: 'account',
    id: 'changePassword',
    summary: 'Change own password',
    description: 'Ends every other session of the account.',
    tag,
    status: 200,
    body: Type.Object({ current: password, password }, { $id: 'PasswordChange', ...closed }),
    answer: Session,
    handle: async ({ deps, session, body, request }) => {
      await sessions.changePassword(deps, session!, body, request.ip);
      return sessions.describeSession(deps, session!);
    },
  }),
];
