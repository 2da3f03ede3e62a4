/** What lies above organizations. */
import { Type } from 'typebox';
import { limits, slugPattern } from '../core/text.ts';
import * as instance from '../services/instance.ts';
import { list, plain } from './route.ts';

const tag = 'Organizations';

export const listOrganizations = list([], {
  id: 'listOrganizations',
  summary: 'List organizations',
  description: 'Those that the caller reaches: of a key its own, of a person those where they are a member.',
  tag,
  item: Type.Object({ slug: Type.String(), name: Type.String() }, { $id: 'OrganizationName' }),
  list: ({ deps, caller, session }, page) => instance.listReached(deps, caller.scope, session, page),
});

export const createOrganization = plain([], {
  id: 'createOrganization',
  summary: 'Create organization',
  description:
    'Whoever creates it is its owner. Only admin accounts have the permission; a key belongs to one organization.',
  tag,
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
    const { created_at, ...created } = await instance.createOrganization(deps, session!, body);
    reply.header('location', link(`/api/o/${created.slug}/`));
    return { ...created, created_at: created_at.toISOString() };
  },
});
