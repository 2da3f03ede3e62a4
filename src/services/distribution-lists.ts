import { AppError } from '../core/errors.ts';
import { addressKind, fold } from '../core/text.ts';
import { addMissingEmails } from '../db/addresses.ts';
import * as lists from '../db/distribution-lists.ts';
import * as members from '../db/members.ts';
import type { PageRequest } from '../db/page.ts';
import { createMissingUsers } from '../db/users.ts';
import type { Deps } from './deps.ts';

export { listDistributionLists } from '../db/distribution-lists.ts';

export async function findDistributionList({ db }: Deps, organizationId: number, projectId: number, id: number) {
  return lists.findDistributionList(db, organizationId, projectId, id);
}

export async function createDistributionList({ db }: Deps, organizationId: number, projectId: number, name: string) {
  const list = await lists.createDistributionList(db, organizationId, projectId, { name, name_key: fold(name) });
  if (list) return list;
  throw new AppError('list.exists', `this project has a distribution list named ${name} already`, {
    fields: { name: ['is taken by another list of this project'] },
  });
}

/** All or nothing: unknown addresses become users, and whoever is a member already stays one. */
export async function addRecipients({ db }: Deps, organizationId: number, listId: number, emails: string[]) {
  const people = new Map(emails.map(email => [fold(email), { username: fold(email), email }]));
  const usernames = [...people.keys()];
  return db.transaction().execute(async trx => {
    const created = await createMissingUsers(trx, organizationId, [...people.values()]);
    await addMissingEmails(trx, organizationId, usernames);
    const added = await members.addMissingMembers(trx, organizationId, listId, usernames);
    return { added, existing: usernames.length - added, created_users: created };
  });
}

/** Each member with the channel it is reached through. */
export async function listMembers(
  { db, directory }: Deps,
  organizationId: number,
  projectId: number,
  listId: number,
  page: PageRequest,
) {
  const channels = await directory.listUsableChannels(organizationId, projectId);
  const rows = await members.listMembers(db, organizationId, listId, page);
  return rows.map(({ address_name, ...member }) => {
    const kind = addressKind(address_name);
    const channel = channels.find(candidate => candidate.enabled && candidate.type === kind);
    return { ...member, channel: channel?.slug ?? kind };
  });
}
