import { Type } from 'typebox';
import { roles } from '../../core/identity/roles.ts';
import * as queries from '../../db/identity/memberships.ts';
import * as accounts from '../../services/identity/accounts.ts';
import { unlinkMember } from '../../services/identity/sign-in/oidc-links.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullableTimestamp, time } from '../server/schemas.ts';

const { list, plain } = endpoints('Accounts');

const role = Type.Enum([...roles]);

const Account = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String(),
    role,
    created_at: time('When the account joined the organization.'),
    last_seen_at: nullableTimestamp,
    two_factor: Type.Boolean({ description: 'Whether the account has an authenticator app or a passkey.' }),
    linked: Type.Boolean({ description: 'Whether the account is linked to an identity at the identity provider.' }),
  },
  { $id: 'Account' },
);

export const listAccounts = list(['org'], {
  id: 'listAccounts',
  summary: 'List accounts',
  description: 'Lists the members of the organization.',
  item: Account,
  personal: 'account',
  list: ({ deps, organization }, page) => queries.listMembers(deps.db, organization.id, page),
});

export const updateAccount = plain(['org', 'account'], {
  id: 'updateAccount',
  summary: 'Change role',
  description:
    'You cannot grant or revoke a role that has permissions you lack. The role of the last owner cannot be changed.',
  problems: [409],
  body: Type.Object({ role }, { $id: 'AccountUpdate', ...closed }),
  answer: Account,
  handle: async call => {
    const { deps, organization, account, body, caller } = call;
    const { id } = organization;
    return withEtag(call, await accounts.changeRole(deps, id, account, body.role, caller, ifMatch(call)));
  },
});

export const removeAccount = plain(['org', 'account'], {
  id: 'removeAccount',
  summary: 'Remove account',
  description: 'Removes the account from the organization, with immediate effect. The last owner cannot be removed.',
  problems: [409],
  answer: Type.Object({ deleted: Type.Object({ accounts: Type.Integer() }) }),
  handle: async call => {
    const { deps, organization, account, caller } = call;
    await accounts.removeMember(deps, organization.id, account, caller, ifMatch(call));
    return { deleted: { accounts: 1 } };
  },
});

export const unlinkAccount = plain(['org', 'account'], {
  id: 'unlinkAccount',
  summary: 'Unlink account',
  description:
    'Removes the link to the identity at the identity provider and ends the sessions of the account. The next sign-in with the ' +
    "provider links the identity that has the account's verified email. For users whose identity was created again. Only an " +
    'instance admin may unlink an account of several organizations or of an instance admin (403 `account.shared`).',
  answer: Account,
  handle: async call => {
    const { deps, organization, account, caller } = call;
    return withEtag(call, await unlinkMember(deps, organization.id, account, caller, ifMatch(call)));
  },
});
