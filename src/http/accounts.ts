import { Type } from 'typebox';
import { roles } from '../core/roles.ts';
import * as accounts from '../services/accounts.ts';
import { ifMatch, tagged } from './etag.ts';
import { list, plain } from './route.ts';
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
    return tagged(call, show(await accounts.changeRole(deps, id, account, body.role, own, ifMatch(call, show))));
  },
});

export const removeAccount = plain(['org', 'account'], {
  id: 'removeAccount',
  summary: 'Remove account',
  description: 'From the organization, at once and everywhere. The last owner stays.',
  tag,
  status: 200,
  problems: [409],
  answer: Type.Object({ deleted: Type.Object({ accounts: Type.Integer() }) }),
  handle: async call => {
    const { deps, organization, account, caller } = call;
    await accounts.removeMember(deps, organization.id, account, caller.permissions, ifMatch(call, show));
    return { deleted: { accounts: 1 } };
  },
});
