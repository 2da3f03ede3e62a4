import * as browse from '../services/organizations.ts';
import { list, plain, type Route } from './route.ts';
import { Application, Channel, Event, Organization, Project } from './schemas.ts';

interface Named {
  slug: string;
  name: string;
}

function project(organization: Named, { slug, name }: Named, link: (path: string) => string) {
  const path = `/api/o/${organization.slug}/p/${slug}/`;
  return {
    name,
    slug,
    applications: link(`${path}a/`),
    channels: link(`${path}c/`),
    distribution_lists: link(`${path}d/`),
  };
}

export const organizationRoutes: Route[] = [
  plain({
    method: 'GET',
    path: '/api/o/:org/',
    permission: 'organization:read',
    id: 'retrieveOrganization',
    summary: 'Retrieve organization',
    tag: 'Organizations',
    status: 200,
    answer: Organization,
    handle: ({ organization: { slug, name }, link }) => ({
      name,
      slug,
      users: link(`/api/o/${slug}/u/`),
      projects: link(`/api/o/${slug}/p/`),
      channels: link(`/api/o/${slug}/c/`),
    }),
  }),
  list({
    path: '/api/o/:org/p/',
    permission: 'organization:read',
    id: 'listProjects',
    summary: 'List projects',
    tag: 'Organizations',
    item: Project,
    list: async ({ deps, organization, link }, page) => {
      const projects = await browse.listProjects(deps.db, organization.id, page);
      return projects.map(row => ({ id: row.id, ...project(organization, row, link) }));
    },
  }),
  plain({
    method: 'GET',
    path: '/api/o/:org/p/:prj/',
    permission: 'organization:read',
    id: 'retrieveProject',
    summary: 'Retrieve project',
    tag: 'Organizations',
    status: 200,
    answer: Project,
    handle: call => project(call.organization, call.project, call.link),
  }),
  list({
    path: '/api/o/:org/c/',
    permission: 'organization:read',
    id: 'listOrganizationChannels',
    summary: 'List organization channels',
    tag: 'Channels',
    item: Channel,
    list: ({ deps, organization }, page) => browse.listChannels(deps.db, organization.id, null, page),
  }),
  list({
    path: '/api/o/:org/p/:prj/c/',
    permission: 'organization:read',
    id: 'listProjectChannels',
    summary: 'List project channels',
    description: "The project's own channels. Its events may use the organization's too.",
    tag: 'Channels',
    item: Channel,
    list: (call, page) => browse.listChannels(call.deps.db, call.organization.id, call.project.id, page),
  }),
  list({
    path: '/api/o/:org/p/:prj/a/',
    permission: 'organization:read',
    id: 'listApplications',
    summary: 'List applications',
    tag: 'Organizations',
    item: Application,
    list: async ({ deps, organization, project, link }, page) => {
      const applications = await browse.listApplications(deps.db, organization.id, project.id, page);
      return applications.map(({ id, slug, name }) => ({
        id,
        name,
        slug,
        events: link(`/api/o/${organization.slug}/p/${project.slug}/a/${slug}/e/`),
      }));
    },
  }),
  list({
    path: '/api/o/:org/p/:prj/a/:app/e/',
    permission: 'event:list',
    id: 'listEvents',
    summary: 'List events',
    tag: 'Events',
    item: Event,
    list: ({ deps, organization, application }, page) =>
      browse.listEvents(deps.db, organization.id, application.id, page),
  }),
];
