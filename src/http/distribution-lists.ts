import * as lists from '../services/distribution-lists.ts';
import { list, plain, type Route } from './route.ts';
import { DistributionList, Member, NewDistributionList, Recipients, RecipientsAdded } from './schemas.ts';

const tag = 'Distribution lists';

interface Slugged {
  slug: string;
}

function present(
  { id, name }: { id: number; name: string },
  at: { organization: Slugged; project: Slugged; link: (path: string) => string },
) {
  return { id, name, members: at.link(`/api/o/${at.organization.slug}/p/${at.project.slug}/d/${id}/m/`) };
}

export const distributionListRoutes: Route[] = [
  list({
    path: '/api/o/:org/p/:prj/d/',
    permission: 'distributionlist:read',
    id: 'listDistributionLists',
    summary: 'List distribution lists',
    tag,
    item: DistributionList,
    list: async (call, page) => {
      const found = await lists.listDistributionLists(call.deps.db, call.organization.id, call.project.id, page);
      return found.map(row => present(row, call));
    },
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/p/:prj/d/',
    permission: 'distributionlist:write',
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
  }),
  plain({
    method: 'GET',
    path: '/api/o/:org/p/:prj/d/:pk/',
    permission: 'distributionlist:read',
    id: 'retrieveDistributionList',
    summary: 'Retrieve distribution list',
    tag,
    status: 200,
    answer: DistributionList,
    handle: call => present(call.list, call),
  }),
  plain({
    method: 'POST',
    path: '/api/o/:org/p/:prj/d/:pk/add/',
    permission: 'distributionlist:write',
    id: 'addRecipients',
    summary: 'Add recipients',
    description: 'All or nothing. Who is a member already stays one; addresses of nobody become users.',
    tag,
    status: 200,
    body: Recipients,
    bodyLimit: 10 * 1024 * 1024,
    answer: RecipientsAdded,
    handle: ({ deps, organization, project, list, body }) =>
      lists.addRecipients(deps, organization.id, project, list, body),
  }),
  list({
    path: '/api/o/:org/p/:prj/d/:pk/m/',
    permission: 'distributionlist:read',
    id: 'listMembers',
    summary: 'List members',
    tag,
    item: Member,
    list: ({ deps, organization, project, list: { id } }, page) =>
      lists.listMembers(deps, organization.id, project.id, id, page),
  }),
];
