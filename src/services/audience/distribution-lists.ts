import { AppError, type ErrorCode } from '../../core/errors.ts';
import { addressKind, fold } from '../../core/text/text.ts';
import { addMissingEmails } from '../../db/audience/addresses.ts';
import * as lists from '../../db/audience/distribution-lists.ts';
import * as members from '../../db/audience/members.ts';
import { listSchedulesWithFallback } from '../../db/audience/on-call/schedules.ts';
import { createMissingUsers } from '../../db/audience/users.ts';
import { setColumns } from '../../db/configuration/rows.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import { prepareForGrowth, violatedConstraint } from '../../db/connection/pool.ts';
import { slices } from '../../lib/load/slices.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { refuseIfUsed } from '../configuration/references.ts';
import type { Deps } from '../deps.ts';
import { record } from '../operations/audit.ts';

interface Project {
  id: number;
  slug: string;
}

/** Trims the name: surrounding spaces are invisible and would allow two lists that look the same. */
export async function createDistributionList(deps: Deps, organizationId: number, project: Project, input: string) {
  const name = input.trim();
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

const analyzeThreshold = 1_000;

/** Adds recipients, all or none. Creates users for unknown emails; existing members are left unchanged. */
export async function addRecipients(
  deps: Deps,
  organizationId: number,
  project: Project,
  list: { id: number; name: string },
  emails: string[],
) {
  const users = new Map<string, { username: string; email: string }>();
  const pause = slices();
  for (const email of emails) {
    const username = fold(email);
    users.set(username, { username, email });
    const paused = pause();
    if (paused) await paused;
  }
  const usernames = [...users.keys()];
  return deps.db.transaction().execute(async trx => {
    if (usernames.length > analyzeThreshold) await prepareForGrowth(trx);
    const created = await createMissingUsers(trx, organizationId, [...users.values()]);
    await deps.usage.admitUsers(trx, organizationId, created, currentTime());
    await addMissingEmails(trx, organizationId, usernames);
    const added = await members.addMissingMembers(trx, organizationId, list.id, usernames);
    const counts = { added, existing: usernames.length - added, created_users: created };
    const path = `${project.slug}/${list.name}`;
    await record(deps, trx, organizationId, { action: 'add members', noun: 'list', path, after: counts });
    return counts;
  });
}

/** Lists members, each with the channel that reaches it. */
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
  return (await lists.countMembers(db, organizationId, listId)) ?? notFound('list.not_found', 'list');
}

/** Renames the list, also in the notifications and schedules that refer to it. */
export async function renameDistributionList(
  deps: Deps,
  organizationId: number,
  project: Project,
  id: number,
  input: string,
  check: (current: List) => void,
): Promise<List> {
  const name = input.trim();
  return deps.db.transaction().execute(async trx => {
    const current = (await lists.findListForUpdate(trx, organizationId, id)) ?? notFound('list.not_found', 'list');
    check(current);
    if (name === current.name) return current;
    const uses = await findReferences(trx, organizationId, project, current.name_key);
    try {
      await lists.renameDistributionList(trx, organizationId, id, { name, name_key: fold(name) });
    } catch (error) {
      if (violatedConstraint(error) !== 'distribution_lists_organization_id_project_id_name_key_key') throw error;
      throw new AppError('resource.exists', `this project has a distribution list named ${name} already`, {
        fields: { name: ['is taken by another list of this project'] },
      });
    }
    if (uses.length > 0) await lists.renameListInNotifications(trx, organizationId, uses, name);
    for (const { id } of await listSchedulesWithFallback(trx, organizationId, project.id, current.name_key))
      await setColumns(trx, organizationId, 'schedule', id, { fallback: name });
    const notifications = [...new Set(uses.map(use => use.path))];
    const changes = { before: { name: current.name }, after: { name, notifications } };
    const path = `${project.slug}/${current.name}`;
    await record(deps, trx, organizationId, { action: 'update', noun: 'list', path, ...changes });
    return { id, name };
  });
}

const maxListedNotifications = 20;

/** Refuses to delete a list that notifications refer to, or one with members unless `cascade` is set. */
export async function deleteDistributionList(
  deps: Deps,
  organizationId: number,
  project: Project,
  id: number,
  { cascade, dryRun, check }: { cascade: boolean; dryRun: boolean; check: (current: List) => void },
) {
  return deps.db.transaction().execute(async trx => {
    const current = (await lists.findListForUpdate(trx, organizationId, id)) ?? notFound('list.not_found', 'list');
    check(current);
    const uses = await findReferences(trx, organizationId, project, current.name_key);
    if (uses.length > 0) {
      const notifications = [...new Set(uses.map(use => use.path))].slice(0, maxListedNotifications);
      throw new AppError('resource.in_use', 'notifications use this list: change them first', {
        uses: { notifications },
      });
    }
    const schedules = await listSchedulesWithFallback(trx, organizationId, project.id, current.name_key);
    refuseIfUsed(
      'the list',
      schedules.map(({ slug }) => `${project.slug}/${slug}`),
      'schedules',
    );
    const { members } = current;
    if (members > 0 && !cascade) {
      throw new AppError('resource.in_use', 'the list has members: add ?cascade=true to delete them as well', {
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

async function findReferences(db: Deps['db'], organizationId: number, project: Project, nameKey: string) {
  const uses = await lists.listListReferences(db, organizationId, project.id);
  return uses.filter(use => fold(use.list) === nameKey);
}

/** An inactive member stays on the list but is not notified. */
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
    if (!member) return notFound('member.not_found', 'member');
    const path = `${project.slug}/${list.name}/${member.user}`;
    await record(deps, trx, organizationId, { action: 'update', noun: 'member', path, after: { active } });
    return member;
  });
}

/** Removes a member from the list. The user is kept. */
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
    if (!member) return notFound('member.not_found', 'member');
    if (dryRun) return { members: 1 };
    await members.removeMember(trx, organizationId, id);
    const path = `${project.slug}/${list.name}/${member.user}`;
    const before = { address: member.address, active: member.active };
    await record(deps, trx, organizationId, { action: 'delete', noun: 'member', path, before });
    return { members: 1 };
  });
}

function notFound(code: ErrorCode, noun: string): never {
  throw new AppError(code, `the ${noun} has been deleted`);
}
