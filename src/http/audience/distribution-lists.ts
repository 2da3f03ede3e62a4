import { Type } from 'typebox';
import { parseSearch } from '../../core/audience/search.ts';
import * as queries from '../../db/audience/distribution-lists.ts';
import * as memberQueries from '../../db/audience/members.ts';
import * as searchQueries from '../../db/audience/user-search.ts';
import * as lists from '../../services/audience/distribution-lists.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { badCursor, type Call, endpoints } from '../server/route.ts';
import {
  DistributionList,
  ListUpdate,
  Member,
  NamedMember,
  NewDistributionList,
  Recipients,
  RecipientsAdded,
} from '../server/schemas.ts';
import { formatSearchCursor, parseSearchCursor, Search } from './search.ts';

const { deletion, list, ordered, plain } = endpoints('Distribution lists');

interface SlugHolder {
  slug: string;
}

interface ListScope {
  organization: SlugHolder;
  project: SlugHolder;
  link: (path: string) => string;
}

/** Returns a check of If-Match against the list in its API representation. */
function checkUnchanged(call: Call & ListScope) {
  const check = ifMatch(call);
  return (current: { id: number; name: string }) => check(present(current, call));
}

function present({ id, name }: { id: number; name: string }, scope: ListScope) {
  return { id, name, members: scope.link(`/api/o/${scope.organization.slug}/p/${scope.project.slug}/d/${id}/m/`) };
}

export const listDistributionLists = list(['org', 'prj'], {
  id: 'listDistributionLists',
  summary: 'List distribution lists',
  item: DistributionList,
  list: async (call, page) => {
    const found = await queries.listDistributionLists(call.deps.db, call.organization.id, call.project.id, page);
    return found.map(row => present(row, call));
  },
});

export const createDistributionList = plain(['org', 'prj'], {
  id: 'createDistributionList',
  summary: 'Create distribution list',
  status: 201,
  body: NewDistributionList,
  answer: DistributionList,
  handle: async call => {
    const { deps, organization, project, body } = call;
    return present(await lists.createDistributionList(deps, organization.id, project, body.name), call);
  },
});

export const retrieveDistributionList = plain(['org', 'prj', 'pk'], {
  id: 'retrieveDistributionList',
  summary: 'Retrieve distribution list',
  answer: DistributionList,
  handle: call => withEtag(call, present(call.list, call)),
});

export const updateDistributionList = plain(['org', 'prj', 'pk'], {
  id: 'updateDistributionList',
  summary: 'Rename distribution list',
  description: 'Notifications that use the list keep using it.',
  problems: [409],
  body: ListUpdate,
  answer: DistributionList,
  handle: async call => {
    const { deps, organization, project, list, body } = call;
    const renamed = body.name
      ? await lists.renameDistributionList(deps, organization.id, project, list.id, body.name, checkUnchanged(call))
      : list;
    return withEtag(call, present(renamed, call));
  },
});

export const countMembers = plain(['org', 'prj', 'pk'], {
  id: 'countMembers',
  summary: 'Count members',
  description: 'Counts are maintained on every change, so this is fast for lists of any size.',
  answer: Type.Object({ members: Type.Integer(), active: Type.Integer() }, { $id: 'MemberCount' }),
  handle: ({ deps, organization, list }) => lists.countMembers(deps, organization.id, list.id),
});

export const searchMembers = ordered(['org', 'prj', 'pk'], {
  id: 'searchMembers',
  readsReplica: true,
  summary: 'List members with their names',
  query: Search,
  item: NamedMember,
  personal: 'list',
  list: async ({ deps, organization, list: { id }, query }, page) => {
    const patterns = parseSearch(query.search ?? '');
    if (patterns.length === 0) {
      if (!/^\d{0,15}$/.test(page.after)) throw badCursor();
      const rows = await memberQueries.listNamedMembers(deps.db, organization.id, id, {
        ...page,
        after: Number(page.after),
      });
      return rows.map(row => ({ ...row, cursor: String(row.id) }));
    }
    const found = { after: parseSearchCursor(page.after, patterns), limit: page.limit };
    const rows = await searchQueries.searchMembers(deps.db, organization.id, id, patterns, found);
    return rows.map(({ position, ...row }) => ({ ...row, cursor: formatSearchCursor(position) }));
  },
});

export const updateMember = plain(['org', 'prj', 'pk', 'member'], {
  id: 'updateMember',
  summary: 'Activate or deactivate member',
  description: 'An inactive member stays on the list but is not notified.',
  body: Type.Object({ active: Type.Boolean() }, { $id: 'MemberUpdate', additionalProperties: false }),
  answer: NamedMember,
  handle: async call => {
    const { deps, organization, project, list, member, body } = call;
    ifMatch(call)(member);
    return withEtag(call, await lists.setMemberActive(deps, organization.id, project, list, member.id, body.active));
  },
});

export const deleteMember = deletion(['org', 'prj', 'pk', 'member'], {
  id: 'deleteMember',
  summary: 'Remove member',
  description: 'Removes the member from the list. The user is not deleted.',
  delete: async (call, { dryRun }) => {
    const { deps, organization, project, list, member } = call;
    ifMatch(call)(member);
    return lists.removeMember(deps, organization.id, project, list, member.id, dryRun);
  },
});

export const addRecipients = plain(['org', 'prj', 'pk'], {
  id: 'addRecipients',
  summary: 'Add recipients',
  description: 'Adds all recipients or none. Existing members are left unchanged; unknown emails become users.',
  problems: [409],
  body: Recipients,
  bodyLimit: 10 * 1024 * 1024,
  answer: RecipientsAdded,
  handle: ({ deps, organization, project, list, body }) =>
    lists.addRecipients(deps, organization.id, project, list, body),
});

export const listMembers = list(['org', 'prj', 'pk'], {
  id: 'listMembers',
  readsReplica: true,
  summary: 'List members',
  item: Member,
  personal: 'list',
  list: ({ deps, organization, project, list: { id } }, page) =>
    lists.listMembers(deps, organization.id, project.id, id, page),
});

export const deleteDistributionList = deletion(['org', 'prj', 'pk'], {
  id: 'deleteDistributionList',
  summary: 'Delete distribution list',
  description:
    'A list with members is only deleted with `cascade`. A list that notifications use cannot be deleted. Users are kept.',
  problems: [409],
  cascades: true,
  delete: (call, options) => {
    const { deps, organization, project, list } = call;
    const check = checkUnchanged(call);
    return lists.deleteDistributionList(deps, organization.id, project, list.id, { ...options, check });
  },
});
