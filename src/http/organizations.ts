import { Type } from 'typebox';
import { OrganizationDocument } from '../core/configuration/document.ts';
import { QuietHours } from '../core/quiet-hours.ts';
import { limits, slugPattern } from '../core/text.ts';
import * as organizations from '../services/organizations.ts';
import { ifMatch, tagged } from './etag.ts';
import { list, plain, slugsOf } from './route.ts';
import { CascadeQuery, Deleted, deletionOf, Organization } from './schemas.ts';

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

export const listOrganizations = list([], {
  id: 'listOrganizations',
  summary: 'List organizations',
  description: 'Those that the caller reaches: of a key its own, of a person those where they are a member.',
  tag: 'Organizations',
  item: Type.Object({ slug: Type.String(), name: Type.String() }, { $id: 'OrganizationName' }),
  list: ({ deps, caller, session }, page) => organizations.listReached(deps, caller.scope, session, page),
});

export const createOrganization = plain([], {
  id: 'createOrganization',
  summary: 'Create organization',
  description:
    'Whoever creates it is its owner. Only admin accounts have the permission; a key belongs to one organization.',
  tag: 'Organizations',
  status: 201,
  problems: [409],
  body: Type.Object(
    {
      slug: Type.String({ minLength: 1, maxLength: limits.slug, pattern: slugPattern }),
      name: Type.String({ minLength: 1, maxLength: limits.name, pattern: '\\S' }),
    },
    { $id: 'NewOrganization', additionalProperties: false },
  ),
  answer: Type.Object(
    {
      slug: Type.String(),
      name: Type.String(),
      retention_days: Type.Integer(),
      created_at: Type.String({ format: 'date-time' }),
    },
    { $id: 'CreatedOrganization' },
  ),
  handle: async ({ deps, session, body, reply, link }) => {
    const { created_at, ...created } = await organizations.createOrganization(deps, session!, body);
    reply.header('location', link(`/api/o/${created.slug}/`));
    return { ...created, created_at: created_at.toISOString() };
  },
});

export const retrieveOrganization = plain(['org'], {
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
});

export const retrieveSettings = plain(['org'], {
  id: 'retrieveSettings',
  summary: 'Retrieve settings',
  description: 'What can be changed about the organization itself.',
  tag: 'Organizations',
  status: 200,
  answer: OrganizationSettings,
  handle: async call => tagged(call, await organizations.getSettings(call.deps, call.organization.id)),
});

export const patchOrganization = plain(['org'], {
  id: 'patchOrganization',
  summary: 'Change organization',
  description: 'The ETag is that of the settings.',
  tag: 'Organizations',
  status: 200,
  body: OrganizationChanges,
  answer: OrganizationSettings,
  handle: async call =>
    tagged(call, await organizations.updateOrganization(call.deps, slugsOf(call), call.body, ifMatch(call))),
});

export const requireTwoFactor = plain(['org'], {
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
    return tagged(
      call,
      await organizations.requireTwoFactor(deps, organization.id, body.required, session, ifMatch(call)),
    );
  },
});

export const deleteOrganization = plain(['org'], {
  id: 'deleteOrganization',
  summary: 'Delete organization',
  description: 'What has something below it is refused, unless `cascade` is given. History stays.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => organizations.deleteOrganization(call.deps, slugsOf(call), deletionOf(call.query), ifMatch(call)),
});
