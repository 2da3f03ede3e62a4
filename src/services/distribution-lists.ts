import { AppError, type ErrorCode } from '../core/errors.ts';
import type { Beginnings } from '../core/search.ts';
import { addressKind, fold } from '../core/text.ts';
import { addMissingEmails } from '../db/addresses.ts';
import * as lists from '../db/distribution-lists.ts';
import * as members from '../db/members.ts';
import type { PageRequest } from '../db/page.ts';
import { expectGrowth, violatedConstraint } from '../db/pool.ts';
import { type SearchPage, searchMembers as search } from '../db/user-search.ts';
import { createMissingUsers } from '../db/users.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';

export async function listDistributionLists(
  { db }: Deps,
  organizationId: number,
  projectId: number,
  page: PageRequest,
) {
  return lists.listDistributionLists(db, organizationId, projectId, page);
}

export async function findDistributionList({ db }: Deps, organizationId: number, projectId: number, id: number) {
  return lists.findDistributionList(db, organizationId, projectId, id);
}

interface Project {
  id: number;
  slug: string;
}

/** Spaces around a name cannot be seen, and would make two lists of one. */
export async function createDistributionList(deps: Deps, organizationId: number, project: Project, given: string) {
  const name = given.trim();
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

const manyRecipients = 1_000;

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
    if (usernames.length > manyRecipients) await expectGrowth(trx);
    const created = await createMissingUsers(trx, organizationId, [...people.values()]);
    await deps.usage.admitUsers(trx, organizationId, created, Date.now());
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
  { db, tenantCache }: Deps,
  organizationId: number,
  projectId: number,
  listId: number,
  page: PageRequest,
) {
  const channels = await tenantCache.listUsableChannels(organizationId, projectId);
  const rows = await members.listMembers(db, organizationId, listId, page);
  return rows.map(({ address_name, ...member }) => {
    const kind = addressKind(address_name);
    const channel = channels.find(candidate => candidate.enabled && candidate.type === kind);
    return { ...member, channel: channel?.slug ?? kind };
  });
}

interface List {
  id: number;
  name: string;
}

export async function countMembers({ db }: Deps, organizationId: number, listId: number) {
  return (await lists.countMembers(db, organizationId, listId)) ?? gone('list.not_found', 'list');
}

/** Notifications that name the list go on naming it. */
export async function renameDistributionList(
  deps: Deps,
  organizationId: number,
  project: Project,
  id: number,
  given: string,
  check: (current: List) => void,
): Promise<List> {
  const name = given.trim();
  return deps.db.transaction().execute(async trx => {
    const current = (await lists.findListForUpdate(trx, organizationId, id)) ?? gone('list.not_found', 'list');
    check(current);
    if (name === current.name) return current;
    const uses = await usesOf(trx, organizationId, project, current.name_key);
    try {
      await lists.renameDistributionList(trx, organizationId, id, { name, name_key: fold(name) });
    } catch (error) {
      if (violatedConstraint(error) !== 'distribution_lists_organization_id_project_id_name_key_key') throw error;
      throw new AppError('resource.exists', `this project has a distribution list named ${name} already`, {
        fields: { name: ['is taken by another list of this project'] },
      });
    }
    if (uses.length > 0) await lists.nameListInNotifications(trx, organizationId, uses, name);
    const notifications = [...new Set(uses.map(use => use.path))];
    const changes = { before: { name: current.name }, after: { name, notifications } };
    const path = `${project.slug}/${current.name}`;
    await record(deps, trx, organizationId, { action: 'update', noun: 'list', path, ...changes });
    return { id, name };
  });
}

const mostNamed = 20;

/** One that notifications name stays; one with members goes only with them. */
export async function deleteDistributionList(
  deps: Deps,
  organizationId: number,
  project: Project,
  id: number,
  { cascade, dryRun, check }: { cascade: boolean; dryRun: boolean; check: (current: List) => void },
) {
  return deps.db.transaction().execute(async trx => {
    const current = (await lists.findListForUpdate(trx, organizationId, id)) ?? gone('list.not_found', 'list');
    check(current);
    const uses = await usesOf(trx, organizationId, project, current.name_key);
    if (uses.length > 0) {
      const notifications = [...new Set(uses.map(use => use.path))].slice(0, mostNamed);
      throw new AppError('resource.in_use', 'notifications go to this list: change them first', {
        uses: { notifications },
      });
    }
    const { members } = current;
    if (members > 0 && !cascade) {
      throw new AppError('resource.in_use', 'the list has members: add ?cascade=true to delete it with them', {
        uses: { members },
      });
    }
    const deleted = { lists: 1, members };
    if (dryRun) return deleted;
    await lists.deleteDistributionList(trx, organizationId, id);
    const before = { name: current.name, members };
    const path = `${project.slug}/${current.name}`;
    await record(deps, trx, organizationId, { action: 'delete', noun: 'list', path, before });
    return deleted;
  });
}

async function usesOf(db: Deps['db'], organizationId: number, project: Project, nameKey: string) {
  const uses = await lists.listListUses(db, organizationId, project.id);
  return uses.filter(use => fold(use.list) === nameKey);
}

export async function findMember({ db }: Deps, organizationId: number, listId: number, id: number) {
  return members.findMember(db, organizationId, listId, id);
}

/** Members with the names of the users. */
export async function listNamedMembers({ db }: Deps, organizationId: number, listId: number, page: PageRequest) {
  return members.listNamedMembers(db, organizationId, listId, page);
}

export async function searchMembers(
  { db }: Deps,
  organizationId: number,
  listId: number,
  ways: readonly Beginnings[],
  page: SearchPage,
) {
  return search(db, organizationId, listId, ways, page);
}

/** One who is not active stays a member, and is not notified. */
export async function setMemberActive(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: List,
  id: number,
  active: boolean,
) {
  return deps.db.transaction().execute(async trx => {
    await members.setMemberActive(trx, organizationId, id, active);
    const member = await members.findMember(trx, organizationId, list.id, id);
    if (!member) return gone('member.not_found', 'member');
    const path = `${project.slug}/${list.name}/${member.user}`;
    await record(deps, trx, organizationId, { action: 'update', noun: 'member', path, after: { active } });
    return member;
  });
}

/** The user stays. */
export async function removeMember(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: List,
  id: number,
  dryRun: boolean,
) {
  return deps.db.transaction().execute(async trx => {
    const member = await members.findMember(trx, organizationId, list.id, id);
    if (!member) return gone('member.not_found', 'member');
    if (dryRun) return { members: 1 };
    await members.removeMember(trx, organizationId, id);
    const path = `${project.slug}/${list.name}/${member.user}`;
    const before = { address: member.address, active: member.active };
    await record(deps, trx, organizationId, { action: 'delete', noun: 'member', path, before });
    return { members: 1 };
  });
}

function gone(code: ErrorCode, noun: string): never {
  throw new AppError(code, `the ${noun} has been deleted meanwhile`);
}
