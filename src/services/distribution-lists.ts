import { AppError } from '../core/errors.ts';
import { addressKind, fold } from '../core/text.ts';
import { addMissingEmails } from '../db/addresses.ts';
import * as lists from '../db/distribution-lists.ts';
import * as members from '../db/members.ts';
import type { PageRequest } from '../db/page.ts';
import { createMissingUsers } from '../db/users.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export { listDistributionLists } from '../db/distribution-lists.ts';

export async function findDistributionList({ db }: Deps, organizationId: number, projectId: number, id: number) {
  return lists.findDistributionList(db, organizationId, projectId, id);
}

interface Project {
  id: number;
  slug: string;
}

export async function createDistributionList(deps: Deps, organizationId: number, project: Project, name: string) {
  return deps.db.transaction().execute(async trx => {
    const fields = { name, name_key: fold(name) };
    const list = await lists.createDistributionList(trx, organizationId, project.id, fields);
    if (!list) {
      throw new AppError('list.exists', `this project has a distribution list named ${name} already`, {
        fields: { name: ['is taken by another list of this project'] },
      });
    }
    const path = `${project.slug}/${name}`;
    await record(deps, trx, organizationId, { action: 'create', noun: 'list', path, after: { name } });
    return list;
  });
}

/** All or nothing: unknown addresses become users, and whoever is a member already stays one. */
export async function addRecipients(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: { id: number; name: string },
  emails: string[],
) {
  const people = new Map(emails.map(email => [fold(email), { username: fold(email), email }]));
  const usernames = [...people.keys()];
  return deps.db.transaction().execute(async trx => {
    const created = await createMissingUsers(trx, organizationId, [...people.values()]);
    await addMissingEmails(trx, organizationId, usernames);
    const added = await members.addMissingMembers(trx, organizationId, list.id, usernames);
    const counts = { added, existing: usernames.length - added, created_users: created };
    const path = `${project.slug}/${list.name}`;
    await record(deps, trx, organizationId, { action: 'add members', noun: 'list', path, after: counts });
    return counts;
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
