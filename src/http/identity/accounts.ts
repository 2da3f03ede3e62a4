import { Type } from 'typebox';
import { roles } from '../../core/identity/roles.ts';
import * as queries from '../../db/identity/memberships.ts';
import * as accounts from '../../services/identity/accounts.ts';
import { unlinkMember } from '../../services/identity/sign-in/oidc-links.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { list, plain } from '../server/route.ts';
import { closed, timestamp } from '../server/schemas.ts';

const tag = 'Accounts';
const role = Type.Enum([...roles]);

const Account = Type.Object(
  {
    id: Type.Integer(),
    email: Type.String(),
    name: Type.String(),
    role,
    created_at: Type.String({ format: 'date-time', description: 'When the account joined the organization.' }),
    last_seen_at: Type.Union([timestamp, Type.Null()]),
    two_factor: Type.Boolean({ description: 'Whether the account has an authenticator app or a passkey.' }),
    linked: Type.Boolean({ description: 'Whether the account is linked to an identity at the identity provider.' }),
  },
  { $id: 'Account' },
);

function show({ created_at, last_seen_at, ...member }: accounts.Member) {
  return {
    ...member,
    created_at: created_at.toISOString(),
    last_seen_at: last_seen_at?.toISOString() ?? null,
  };
}

export const listAccounts = list(['org'], {
  id: 'listAccounts',
  summary: 'List accounts',
  description: 'Lists the members of the organization.',
  tag,
  item: Account,
  personal: 'account',
  list: async ({ deps, organization }, page) => (await queries.listMembers(deps.db, organization.id, page)).map(show),
});

export const updateAccount = plain(['org', 'account'], {
  id: 'updateAccount',
  summary: 'Change role',
  description:
    'You cannot grant or revoke a role that has permissions you lack. The role of the last owner cannot be changed.',
  tag,
  status: 200,
  problems: [409],
  body: Type.Object({ role }, { $id: 'AccountUpdate', ...closed }),
  answer: Account,
  handle: async call => {
    const { deps, organization, account, body, caller } = call;
    const { id } = organization;
    return withEtag(call, show(await accounts.changeRole(deps, id, account, body.role, caller, ifMatch(call, show))));
  },
});

export const removeAccount = plain(['org', 'account'], {
  id: 'removeAccount',
  summary: 'Remove account',
  description: 'Removes the account from the organization, with immediate effect. The last owner cannot be removed.',
  tag,
  status: 200,
  problems: [409],
  answer: Type.Object({ deleted: Type.Object({ accounts: Type.Integer() }) }),
  handle: async call => {
    const { deps, organization, account, caller } = call;
    await accounts.removeMember(deps, organization.id, account, caller, ifMatch(call, show));
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
  tag,
  status: 200,
  answer: Account,
  handle: async call => {
    const { deps, organization, account, caller } = call;
    return withEtag(call, show(await unlinkMember(deps, organization.id, account, caller, ifMatch(call, show))));
  },
});
