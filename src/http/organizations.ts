import { Type } from 'typebox';
import { OrganizationDocument } from '../core/configuration/document.ts';
import { QuietHours } from '../core/quiet-hours.ts';
import * as browse from '../services/organizations.ts';
import { ifMatch, tagged } from './etag.ts';
import { type Call, list, plain, type Route, slugsOf } from './route.ts';
import { Application, Channel, Event, Organization, Project } from './schemas.ts';

interface Named {
  slug: string;
  name: string;
}

export function showProject(
  { organization, link }: Pick<Call, 'link'> & { organization: Named },
  { slug, name }: Named,
) {
  const path = `/api/o/${organization.slug}/p/${slug}/`;
  return {
    name,
    slug,
    applications: link(`${path}a/`),
    channels: link(`${path}c/`),
    distribution_lists: link(`${path}d/`),
  };
}

const OrganizationSettings = Type.Object(
  {
    slug: Type.String(),
    name: Type.String(),
    retention_days: Type.Integer({ description: 'How long history is kept.' }),
    max_key_lifetime_days: Type.Union([Type.Integer(), Type.Null()], {
      description: 'How long a key that is created from now on may live. Null: for ever.',
    }),
    brand_color: Type.Union([Type.String(), Type.Null()], { description: 'Of the pages that recipients see.' }),
    logo_url: Type.Union([Type.String(), Type.Null()], { description: 'The same: a picture instead of the name.' }),
    timezone: Type.Union([Type.String(), Type.Null()], { description: 'In which quiet hours are counted. Null: UTC.' }),
    quiet_hours: Type.Union([QuietHours, Type.Null()], { description: 'For people who have none of their own.' }),
    most_per_day: Type.Union([Type.Integer(), Type.Null()], {
      description: 'How much one person gets in 24 hours, of all events. Null: no limit.',
    }),
    two_factor_required: Type.Boolean({ description: 'Of everybody who signs in; keys are not asked for it.' }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'OrganizationSettings' },
);
const { name, retention_days, max_key_lifetime_days, brand_color, logo_url, timezone, quiet_hours, most_per_day } =
  OrganizationDocument.properties;
const OrganizationChanges = Type.Object(
  {
    name: Type.Optional(name),
    retention_days,
    max_key_lifetime_days,
    brand_color,
    logo_url,
    timezone,
    quiet_hours,
    most_per_day,
  },
  { $id: 'OrganizationChanges', additionalProperties: false },
);

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
  plain({
    method: 'GET',
    path: '/api/o/:org/settings/',
    permission: 'organization:read',
    id: 'retrieveSettings',
    summary: 'Retrieve settings',
    description: 'What can be changed about the organization itself.',
    tag: 'Organizations',
    status: 200,
    answer: OrganizationSettings,
    handle: async call => tagged(call, await browse.getSettings(call.deps, call.organization.id)),
  }),
  plain({
    method: 'PATCH',
    path: '/api/o/:org/',
    permission: 'organization:write',
    id: 'patchOrganization',
    summary: 'Change organization',
    description: 'The ETag is that of the settings.',
    tag: 'Organizations',
    status: 200,
    body: OrganizationChanges,
    answer: OrganizationSettings,
    handle: async call =>
      tagged(call, await browse.updateOrganization(call.deps, slugsOf(call), call.body, ifMatch(call))),
  }),
  plain({
    method: 'PUT',
    path: '/api/o/:org/two-factor/',
    permission: 'security:write',
    id: 'requireTwoFactor',
    summary: 'Require two-factor authentication',
    description:
      'Of every member, from the next request on: who has none gets 403 `session.two_factor_required` until they have set ' +
      'it up. A sign-in by the identity provider counts. The ETag is that of the settings.',
    tag: 'Organizations',
    status: 200,
    problems: [409],
    body: Type.Object({ required: Type.Boolean() }, { $id: 'TwoFactorRule', additionalProperties: false }),
    answer: OrganizationSettings,
    handle: async call => {
      const { deps, organization, body, session } = call;
      return tagged(call, await browse.requireTwoFactor(deps, organization.id, body.required, session, ifMatch(call)));
    },
  }),
  list({
    path: '/api/o/:org/p/',
    permission: 'organization:read',
    id: 'listProjects',
    summary: 'List projects',
    tag: 'Organizations',
    item: Project,
    list: async (call, page) => {
      const projects = await browse.listProjects(call.deps.db, call.organization.id, page);
      return projects.map(row => ({ id: row.id, ...showProject(call, row) }));
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
    handle: call => tagged(call, showProject(call, call.project)),
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
