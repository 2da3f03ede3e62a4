/** Invites: of an organization, and for the one who follows the link of theirs. */
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type Role, roles } from '../core/roles.ts';
import { limits } from '../core/text.ts';
import type { Deps } from '../services/deps.ts';
import * as invites from '../services/invites.ts';
import { describeSession, findSession, forgetSession, type Session as OpenSession } from '../services/sessions.ts';
import { readCookie, requireCsrfToken, setSession, siteOf, visitorOf } from './cookie.ts';
import { ifMatch } from './etag.ts';
import { list, plain } from './route.ts';
import { closed, moment } from './schemas.ts';
import { password, personName, Session } from './sessions.ts';

const tag = 'Session';

const role = Type.Enum([...roles]);

const Invite = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    role,
    invited_by: Type.String({ description: 'Email of the account, or name of the key.' }),
    created_at: moment,
    expires_at: moment,
  },
  { $id: 'Invite' },
);

function showInvite({ role, created_at, expires_at, ...invite }: invites.ListedInvite) {
  return {
    ...invite,
    role: role as Role,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  };
}

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

export const listInvites = list(['org'], {
  id: 'listInvites',
  summary: 'List invites',
  description: 'Those that can still be accepted.',
  tag: 'Accounts',
  item: Invite,
  list: async ({ deps, organization }, page) =>
    (await invites.listInvites(deps, organization.id, page)).map(showInvite),
});

export const createInvite = plain(['org'], {
  id: 'createInvite',
  summary: 'Invite',
  description:
    'Sent by mail where a mail server is set up (`BELFRY_MAIL_URL`); else pass the link on. It works once, for seven ' +
    'days. An earlier invite of the same email ends.',
  tag: 'Accounts',
  status: 201,
  problems: [409],
  body: Type.Object(
    { email: Type.String({ minLength: 1, maxLength: limits.email }), role },
    { $id: 'NewInvite', ...closed },
  ),
  answer: Type.Object(
    {
      id: Type.Integer(),
      email: Type.String(),
      role,
      expires_at: moment,
      link: Type.String({ format: 'uri', description: 'Shown this once.' }),
      mailed: Type.Boolean({ description: 'Whether the mail server took the mail.' }),
      mail_failure: Type.Union([Type.String(), Type.Null()], { description: 'Why it did not, if there is one.' }),
    },
    { $id: 'CreatedInvite' },
  ),
  handle: async ({ deps, organization, body, caller, link }) => {
    const { id } = organization;
    const { expires_at, ...invite } = await invites.createInvite(deps, id, body, caller.permissions, link);
    return { ...invite, expires_at: expires_at.toISOString() };
  },
});

export const withdrawInvite = plain(['org', 'invite'], {
  id: 'withdrawInvite',
  summary: 'Withdraw invite',
  tag: 'Accounts',
  status: 200,
  answer: Type.Object({ deleted: Type.Object({ invites: Type.Integer() }) }),
  handle: async call => {
    const { deps, organization, invite } = call;
    await invites.withdrawInvite(deps, organization.id, invite, ifMatch(call, showInvite));
    return { deleted: { invites: 1 } };
  },
});
