import { Type } from 'typebox';
import { readSearch } from '../core/search.ts';
import * as lists from '../services/distribution-lists.ts';
import { ifMatch, tagged } from './etag.ts';
import { badCursor, type Call, list, ordered, plain } from './route.ts';
import {
  CascadeQuery,
  Deleted,
  DeleteQuery,
  DistributionList,
  ListUpdate,
  Member,
  NamedMember,
  NewDistributionList,
  Recipients,
  RecipientsAdded,
} from './schemas.ts';
import { parsePlace, placeText, Search } from './search.ts';

const tag = 'Distribution lists';

interface Slugged {
  slug: string;
}

interface At {
  organization: Slugged;
  project: Slugged;
  link: (path: string) => string;
}

/** If-Match against the list as it is retrieved. */
function unchanged(call: Call & At) {
  const check = ifMatch(call);
  return (current: { id: number; name: string }) => check(present(current, call));
}

function present({ id, name }: { id: number; name: string }, at: At) {
  return { id, name, members: at.link(`/api/o/${at.organization.slug}/p/${at.project.slug}/d/${id}/m/`) };
}

export const listDistributionLists = list(['org', 'prj'], {
  id: 'listDistributionLists',
  summary: 'List distribution lists',
  tag,
  item: DistributionList,
  list: async (call, page) => {
    const found = await lists.listDistributionLists(call.deps, call.organization.id, call.project.id, page);
    return found.map(row => present(row, call));
  },
});

export const createDistributionList = plain(['org', 'prj'], {
  id: 'createDistributionList',
  summary: 'Create distribution list',
  tag,
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
  tag,
  status: 200,
  answer: DistributionList,
  handle: call => tagged(call, present(call.list, call)),
});

export const updateDistributionList = plain(['org', 'prj', 'pk'], {
  id: 'updateDistributionList',
  summary: 'Rename distribution list',
  description: 'Notifications that go to the list go on doing so.',
  tag,
  status: 200,
  problems: [409],
  body: ListUpdate,
  answer: DistributionList,
  handle: async call => {
    const { deps, organization, project, list, body } = call;
    const renamed = body.name
      ? await lists.renameDistributionList(deps, organization.id, project, list.id, body.name, unchanged(call))
      : list;
    return tagged(call, present(renamed, call));
  },
});

export const countMembers = plain(['org', 'prj', 'pk'], {
  id: 'countMembers',
  summary: 'Count members',
  description: 'Kept as members come and go, so that asking costs nothing.',
  tag,
  status: 200,
  answer: Type.Object({ members: Type.Integer(), active: Type.Integer() }, { $id: 'MemberCount' }),
  handle: ({ deps, organization, list }) => lists.countMembers(deps, organization.id, list.id),
});

export const searchMembers = ordered(['org', 'prj', 'pk'], {
  id: 'searchMembers',
  summary: 'List members with their names',
  tag,
  query: Search,
  item: NamedMember,
  personal: 'list',
  list: async ({ deps, organization, list: { id }, query }, page) => {
    const ways = readSearch(query.search ?? '');
    if (ways.length === 0) {
      if (!/^\d{0,15}$/.test(page.after)) throw badCursor();
      const rows = await lists.listNamedMembers(deps, organization.id, id, { ...page, after: Number(page.after) });
      return rows.map(row => ({ ...row, cursor: String(row.id) }));
    }
    const found = { after: parsePlace(page.after, ways), limit: page.limit };
    const rows = await lists.searchMembers(deps, organization.id, id, ways, found);
    return rows.map(({ place, ...row }) => ({ ...row, cursor: placeText(place) }));
  },
});

export const updateMember = plain(['org', 'prj', 'pk', 'member'], {
  id: 'updateMember',
  summary: 'Switch member on or off',
  description: 'One who is not active stays on the list, and is not notified.',
  tag,
  status: 200,
  body: Type.Object({ active: Type.Boolean() }, { $id: 'MemberUpdate', additionalProperties: false }),
  answer: NamedMember,
  handle: async call => {
    const { deps, organization, project, list, member, body } = call;
    ifMatch(call)(member);
    return tagged(call, await lists.setMemberActive(deps, organization.id, project, list, member.id, body.active));
  },
});

export const deleteMember = plain(['org', 'prj', 'pk', 'member'], {
  id: 'deleteMember',
  summary: 'Remove member',
  description: 'From the list; the user stays.',
  tag,
  status: 200,
  query: DeleteQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, project, list, member, query } = call;
    const { dry_run = false } = query;
    ifMatch(call)(member);
    const deleted = await lists.removeMember(deps, organization.id, project, list, member.id, dry_run);
    return { deleted, ...(dry_run && { dry_run }) };
  },
});

export const addRecipients = plain(['org', 'prj', 'pk'], {
  id: 'addRecipients',
  summary: 'Add recipients',
  description: 'All or nothing. Who is a member already stays one; addresses of nobody become users.',
  tag,
  status: 200,
  problems: [409],
  body: Recipients,
  bodyLimit: 10 * 1024 * 1024,
  answer: RecipientsAdded,
  handle: ({ deps, organization, project, list, body }) =>
    lists.addRecipients(deps, organization.id, project, list, body),
});

export const listMembers = list(['org', 'prj', 'pk'], {
  id: 'listMembers',
  summary: 'List members',
  tag,
  item: Member,
  personal: 'list',
  list: ({ deps, organization, project, list: { id } }, page) =>
    lists.listMembers(deps, organization.id, project.id, id, page),
});

export const deleteDistributionList = plain(['org', 'prj', 'pk'], {
  id: 'deleteDistributionList',
  summary: 'Delete distribution list',
  description: 'One with members goes only with `cascade`; one that notifications go to stays. The users stay.',
  tag,
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: async call => {
    const { deps, organization, project, list, query } = call;
    const { cascade = false, dry_run = false } = query;
    const how = { cascade, dryRun: dry_run, check: unchanged(call) };
    const deleted = await lists.deleteDistributionList(deps, organization.id, project, list.id, how);
    return { deleted, ...(dry_run && { dry_run }) };
  },
});
