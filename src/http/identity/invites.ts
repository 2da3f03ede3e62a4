/** Invites: managed by an organization, and accepted by the user who follows the link. */
import { Type } from 'typebox';
import { type Role, roles } from '../../core/identity/roles.ts';
import { limits } from '../../core/text/text.ts';
import * as queries from '../../db/identity/invites.ts';
import * as invites from '../../services/identity/invites.ts';
import { describeSession, forgetSession } from '../../services/identity/sessions.ts';
import { currentSession, readCookie, setSession, siteOf, visitorOf } from '../server/cookie.ts';
import { ifMatch } from '../server/etag.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullable, timestamp } from '../server/schemas.ts';
import { accountName, password, Session } from './sessions.ts';

const { list, plain } = endpoints('Session');

const role = Type.Enum([...roles]);

const Invite = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    role,
    invited_by: Type.String({ description: 'Email of the account or name of the key that created the invite.' }),
    created_at: timestamp,
    expires_at: timestamp,
  },
  { $id: 'Invite' },
);

function showInvite(invite: invites.ListedInvite) {
  return { ...invite, role: invite.role as Role };
}

export const retrieveInvite = plain(['token'], {
  id: 'retrieveInvite',
  summary: 'Retrieve invite',
  answer: Type.Object(
    {
      organization: Type.Object({ slug: Type.String(), name: Type.String() }),
      email: Type.String(),
      role: Type.Enum([...roles]),
      expires_at: timestamp,
      password: Type.Boolean({
        description:
          'Whether a password accepts it. False if the invited account has none: sign in with the identity provider.',
      }),
    },
    { $id: 'PendingInvite' },
  ),
  handle: async ({ deps, token }) => {
    const invite = await invites.readInvite(deps, token);
    const { organization, email, role, expires_at } = invite;
    const password = !(await invites.needsProvider(deps, email));
    return { organization, email, role, expires_at, password };
  },
});

export const acceptInvite = plain(['token'], {
  id: 'acceptInvite',
  summary: 'Accept invite',
  description:
    'Send a name and a password to create an account, the password of an existing account, or an empty object if you are ' +
    'signed in with the invited email. Signs in. An account with a second factor gets 401 `session.second_factor`: ' +
    'finish signing in, then accept with an empty object. Signing in with the identity provider accepts every invite for ' +
    'the verified email.',
  status: 201,
  problems: [409],
  body: Type.Object(
    { name: Type.Optional(accountName), password: Type.Optional(password) },
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
  description: 'Lists the invites that can still be accepted.',
  tag: 'Accounts',
  item: Invite,
  list: async ({ deps, organization }, page) =>
    (await queries.listInvites(deps.db, organization.id, page)).map(showInvite),
});

export const createInvite = plain(['org'], {
  id: 'createInvite',
  summary: 'Create invite',
  description:
    'Sends the invite by mail if a mail server is configured (`BELFRY_MAIL_URL`). Otherwise, or if the mail could not be ' +
    'sent, the response contains the link to pass on. The link works once, expires after seven days, and ends when ' +
    'the inviter could no longer create it. Replaces an earlier invite for the same email, unless that grants a role that ' +
    'you cannot grant.',
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
      expires_at: timestamp,
      link: nullable(
        Type.String({ format: 'uri' }),
        'The link to pass on. Shown only once. Null if it was mailed: then only the invited user has it.',
      ),
      mailed: Type.Boolean({ description: 'Whether the mail server accepted the mail.' }),
      mail_failure: nullable(
        Type.String(),
        'Why the mail could not be sent. Null if it was sent or no mail server is configured.',
      ),
    },
    { $id: 'CreatedInvite' },
  ),
  handle: ({ deps, organization, body, caller, link }) =>
    invites.createInvite(deps, organization.id, body, caller, link),
});

export const withdrawInvite = plain(['org', 'invite'], {
  id: 'withdrawInvite',
  summary: 'Withdraw invite',
  description: 'You cannot withdraw an invite to a role that has permissions you lack.',
  tag: 'Accounts',
  answer: Type.Object({ deleted: Type.Object({ invites: Type.Integer() }) }),
  handle: async call => {
    const { deps, organization, invite, caller } = call;
    await invites.withdrawInvite(deps, organization.id, invite, caller, ifMatch(call));
    return { deleted: { invites: 1 } };
  },
});
