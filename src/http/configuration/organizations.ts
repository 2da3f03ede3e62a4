import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { organization as noun } from '../../core/configuration/nouns/organization.ts';
import { limits, slugPattern } from '../../core/text/text.ts';
import { deleteEntry } from '../../services/configuration/entries.ts';
import * as organizations from '../../services/configuration/organizations.ts';
import { ifMatch, withEtag } from '../server/etag.ts';
import { list, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, deletionOptions, Organization } from '../server/schemas.ts';

const OrganizationSettings = Type.Object(
  {
    ...responseFieldsOf(noun),
    two_factor_required: Type.Boolean({
      description: 'Whether members must use two-factor authentication. Does not apply to API keys.',
    }),
    created_at: Type.String({ format: 'date-time' }),
  },
  { $id: 'OrganizationSettings' },
);
const { slug: _, name: Name, ...others } = noun.fields;
const OrganizationChanges = Type.Object(
  { name: Type.Optional(Name), ...others },
  { $id: 'OrganizationChanges', additionalProperties: false },
);

export const listOrganizations = list([], {
  id: 'listOrganizations',
  summary: 'List organizations',
  description: 'The organizations that the caller can access: an API key its own, an account those it is a member of.',
  tag: 'Organizations',
  item: Type.Object({ slug: Type.String(), name: Type.String() }, { $id: 'OrganizationName' }),
  list: ({ deps, caller, session }, page) =>
    organizations.listAccessibleOrganizations(deps, caller.grant.scope, session, page),
});

export const createOrganization = plain([], {
  id: 'createOrganization',
  summary: 'Create organization',
  description: 'The account that creates it becomes its owner. Only admin accounts have this permission.',
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
  description: 'Returns the settings of the organization.',
  tag: 'Organizations',
  status: 200,
  answer: OrganizationSettings,
  handle: async call => withEtag(call, await organizations.getSettings(call.deps, call.organization.id)),
});

export const updateOrganization = plain(['org'], {
  id: 'updateOrganization',
  summary: 'Update organization',
  description: 'The ETag is that of the settings.',
  tag: 'Organizations',
  status: 200,
  body: OrganizationChanges,
  answer: OrganizationSettings,
  handle: async call =>
    withEtag(call, await organizations.updateOrganization(call.deps, slugsOf(call), call.body, ifMatch(call))),
});

export const requireTwoFactor = plain(['org'], {
  id: 'requireTwoFactor',
  summary: 'Require two-factor authentication',
  description:
    'Applies to every member from their next request: members without it get 403 `session.two_factor_required` until they ' +
    'set it up. Signing in with an identity provider counts. The ETag is that of the settings.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  body: Type.Object({ required: Type.Boolean() }, { $id: 'TwoFactorRule', additionalProperties: false }),
  answer: OrganizationSettings,
  handle: async call => {
    const { deps, organization, body, session } = call;
    return withEtag(
      call,
      await organizations.requireTwoFactor(deps, organization.id, body.required, session, ifMatch(call)),
    );
  },
});

export const deleteOrganization = plain(['org'], {
  id: 'deleteOrganization',
  summary: 'Delete organization',
  description: 'Fails if there are objects below it, unless `cascade` is true. History is kept.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => {
    const { deps, organization, query } = call;
    const kind = organizations.organization;
    return deleteEntry(deps, kind, slugsOf(call), organization.id, deletionOptions(query), ifMatch(call));
  },
});
