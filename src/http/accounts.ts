import { Type } from 'typebox';
import { type Role, roles } from '../core/roles.ts';
import { limits } from '../core/text.ts';
import * as accounts from '../services/accounts.ts';
import * as invites from '../services/invites.ts';
import { ifMatch, tagged } from './etag.ts';
import { type Call, list, plain } from './route.ts';
import { closed, moment } from './schemas.ts';

const tag = 'Accounts';
const role = Type.Enum([...roles]);

const Account = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String(),
    role,
    created_at: Type.String({ format: 'date-time', description: 'Since when a member.' }),
    last_seen_at: Type.Union([moment, Type.Null()]),
    two_factor: Type.Boolean({ description: 'Has an authenticator app or a passkey.' }),
  },
  { $id: 'Account' },
);

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

const deleted = (noun: string) => Type.Object({ deleted: Type.Object({ [noun]: Type.Integer() }) });

function show({ created_at, last_seen_at, ...member }: accounts.Member) {
  return {
    ...member,
    created_at: created_at.toISOString(),
    last_seen_at: last_seen_at?.toISOString() ?? null,
  };
}

function showInvite({ role, created_at, expires_at, ...invite }: invites.ListedInvite) {
  return {
    ...invite,
    role: role as Role,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  };
}

/** For a change: that it is still what the caller read, in the form in which they read it. */
function unchanged<T>(call: Call, form: (row: T) => unknown): (current: T) => void {
  const check = ifMatch(call);
  return current => check(form(current));
}

export const listAccounts = list(['org'], {
  id: 'listAccounts',
  summary: 'List accounts',
  description: 'The members of the organization.',
  tag,
  item: Account,
  personal: 'account',
  list: async ({ deps, organization }, page) => (await accounts.listMembers(deps, organization.id, page)).map(show),
});

export const updateAccount = plain(['org', 'account'], {
  id: 'updateAccount',
  summary: 'Change role',
  description: 'Nobody gives or takes a role that may do more than their own. The last owner stays one.',
  tag,
  status: 200,
  problems: [409],
  body: Type.Object({ role }, { $id: 'AccountUpdate', ...closed }),
  answer: Account,
  handle: async call => {
    const { deps, organization, account, body, caller } = call;
    const { id } = organization;
    const own = caller.permissions;
    return tagged(call, show(await accounts.changeRole(deps, id, account, body.role, own, unchanged(call, show))));
  },
});

export const removeAccount = plain(['org', 'account'], {
  id: 'removeAccount',
  summary: 'Remove account',
  description: 'From the organization, at once and everywhere. The last owner stays.',
  tag,
  status: 200,
  problems: [409],
  answer: deleted('accounts'),
  handle: async call => {
    const { deps, organization, account, caller } = call;
    await accounts.removeMember(deps, organization.id, account, caller.permissions, unchanged(call, show));
    return { deleted: { accounts: 1 } };
  },
});

export const listInvites = list(['org'], {
  id: 'listInvites',
  summary: 'List invites',
  description: 'Those that can still be accepted.',
  tag,
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
  tag,
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
  tag,
  status: 200,
  answer: deleted('invites'),
  handle: async call => {
    const { deps, organization, invite } = call;
    await invites.withdrawInvite(deps, organization.id, invite, unchanged(call, showInvite));
    return { deleted: { invites: 1 } };
  },
});
