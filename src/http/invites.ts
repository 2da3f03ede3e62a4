/** An invite, for the one who follows its link. */
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { roles } from '../core/roles.ts';
import type { Deps } from '../services/deps.ts';
import * as invites from '../services/invites.ts';
import { describeSession, findSession, forgetSession, type Session as OpenSession } from '../services/sessions.ts';
import { readCookie, requireCsrfToken, setSession, siteOf, visitorOf } from './cookie.ts';
import { plain } from './route.ts';
import { password, personName, Session } from './sessions.ts';

const tag = 'Session';

/** Whoever is signed in here, if anybody is; then the request must be meant by them. */
async function currentSession(deps: Deps, request: FastifyRequest): Promise<OpenSession | undefined> {
  const cookie = readCookie(request);
  const session = cookie ? await findSession(deps, cookie, Date.now()) : undefined;
  if (session) requireCsrfToken(deps, request, session);
  return session;
}

export const retrieveInvite = plain(['token'], {
  id: 'retrieveInvite',
  summary: 'Retrieve invite',
  tag,
  status: 200,
  answer: Type.Object(
    {
      organization: Type.Object({ slug: Type.String(), name: Type.String() }),
      email: Type.String(),
      role: Type.Enum([...roles]),
      expires_at: Type.String({ format: 'date-time' }),
    },
    { $id: 'PendingInvite' },
  ),
  handle: async ({ deps, token }) => {
    const { organization, email, role, expires_at } = await invites.readInvite(deps, token);
    return { organization, email, role, expires_at: expires_at.toISOString() };
  },
});

export const acceptInvite = plain(['token'], {
  id: 'acceptInvite',
  summary: 'Accept invite',
  description:
    'With a name and a password for a new account, with the password of an existing one, or with nothing for ' +
    'whoever is signed in with that email. Signs in. An account with a second factor gets 401 `session.second_factor`: ' +
    'finish signing in, then accept with nothing.',
  tag,
  status: 201,
  problems: [409],
  body: Type.Object(
    { name: Type.Optional(personName), password: Type.Optional(password) },
    { $id: 'InviteAcceptance', additionalProperties: false },
  ),
  answer: Session,
  handle: async call => {
    const { deps, request, body, token } = call;
    const before = await currentSession(deps, request);
    const opened = await invites.acceptInvite(deps, token, body, visitorOf(request), siteOf(call), before);
    if (before) await forgetSession(deps, readCookie(request)!);
    setSession(call, opened);
    return describeSession(deps, opened.session);
  },
});
