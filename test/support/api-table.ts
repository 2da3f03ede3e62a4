/** The twenty endpoints of the Bitcaster-compatible API, as an independent table from which tests are generated. */
import type { Fields } from './api.ts';
import { type InvalidBody, refused } from './api-refused.ts';

export interface Endpoint {
  /** Its number in the specification. */
  number: number;
  operation: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  path: string;
  permission: string;
  status: 200 | 201;
  /** Fields of the response; in an array, those of each item. */
  answer: Fields | [Fields];
  /** Creates a valid body, a different one at every call. */
  body?: () => unknown;
  /** Invalid bodies, with the fields that the response must list. */
  refused?: InvalidBody[];
}

const organization: Fields = { name: 'string', slug: 'string', users: 'url', projects: 'url', channels: 'url' };
const project: Fields = {
  name: 'string',
  slug: 'string',
  applications: 'url',
  channels: 'url',
  distribution_lists: 'url',
};
const channel: Fields = { name: 'string', slug: 'string', type: 'string', enabled: 'boolean' };
const application: Fields = { name: 'string', slug: 'string', events: 'url' };
const event: Fields = { name: 'string', slug: 'string' };
const person: Fields = {
  id: 'integer',
  email: 'string',
  username: 'string',
  first_name: 'string',
  last_name: 'string',
};
const user: Fields = { ...person, locked: 'boolean' };
const address: Fields = { name: 'string', value: 'string' };
const list: Fields = { name: 'string', id: 'integer', members: 'url' };
const member: Fields = { id: 'integer', address: 'string', user: 'string', channel: 'string', active: 'boolean' };

let count = 0;
export const newEmail = () => `new-${++count}@acme.test`;
const update = (method: 'PUT' | 'PATCH'): Endpoint => ({
  number: 6,
  operation: 'Update user',
  method,
  path: '/api/o/:org/u/:username/',
  permission: 'user:write',
  status: 200,
  answer: { ...user, custom_fields: 'object' },
  body: () => ({ first_name: 'Jane' }),
  refused: refused.updates,
});

export const endpoints: Endpoint[] = [
  {
    number: 1,
    operation: 'Ping',
    method: 'GET',
    path: '/api/system/ping/',
    permission: 'system:ping',
    status: 200,
    answer: { token: 'string' },
  },
  {
    number: 2,
    operation: 'Retrieve organization',
    method: 'GET',
    path: '/api/o/:org/',
    permission: 'organization:read',
    status: 200,
    answer: organization,
  },
  {
    number: 3,
    operation: 'List users',
    method: 'GET',
    path: '/api/o/:org/u/',
    permission: 'user:read',
    status: 200,
    answer: [user],
  },
  {
    number: 4,
    operation: 'Create user',
    method: 'POST',
    path: '/api/o/:org/u/',
    permission: 'user:write',
    status: 201,
    answer: { ...person, custom_fields: 'object' },
    body: () => ({ email: newEmail(), first_name: 'New', last_name: 'User', custom_fields: { tier: 'gold' } }),
    refused: refused.newUsers,
  },
  {
    number: 5,
    operation: 'Retrieve user',
    method: 'GET',
    path: '/api/o/:org/u/:username/',
    permission: 'user:read',
    status: 200,
    answer: user,
  },
  update('PUT'),
  update('PATCH'),
  {
    number: 7,
    operation: 'List user addresses',
    method: 'GET',
    path: '/api/o/:org/u/:username/address/',
    permission: 'user:read',
    status: 200,
    answer: [address],
  },
  {
    number: 8,
    operation: 'Add user address',
    method: 'POST',
    path: '/api/o/:org/u/:username/address/',
    permission: 'user:write',
    status: 200,
    answer: address,
    body: () => ({ name: 'pager', value: `number ${++count}` }),
    refused: refused.newAddresses,
  },
  {
    number: 9,
    operation: 'List projects',
    method: 'GET',
    path: '/api/o/:org/p/',
    permission: 'organization:read',
    status: 200,
    answer: [project],
  },
  {
    number: 10,
    operation: 'Retrieve project',
    method: 'GET',
    path: '/api/o/:org/p/:prj/',
    permission: 'organization:read',
    status: 200,
    answer: project,
  },
  {
    number: 11,
    operation: 'List organization channels',
    method: 'GET',
    path: '/api/o/:org/c/',
    permission: 'organization:read',
    status: 200,
    answer: [channel],
  },
  {
    number: 12,
    operation: 'List project channels',
    method: 'GET',
    path: '/api/o/:org/p/:prj/c/',
    permission: 'organization:read',
    status: 200,
    answer: [channel],
  },
  {
    number: 13,
    operation: 'List applications',
    method: 'GET',
    path: '/api/o/:org/p/:prj/a/',
    permission: 'organization:read',
    status: 200,
    answer: [application],
  },
  {
    number: 14,
    operation: 'List events',
    method: 'GET',
    path: '/api/o/:org/p/:prj/a/:app/e/',
    permission: 'event:list',
    status: 200,
    answer: [event],
  },
  {
    number: 15,
    operation: 'Trigger event',
    method: 'POST',
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/trigger/',
    permission: 'event:trigger',
    status: 201,
    answer: { occurrence: 'string' },
    body: () => ({ context: { order: 7 }, options: { channels: ['mail'] } }),
    refused: refused.triggers,
  },
  {
    number: 16,
    operation: 'List distribution lists',
    method: 'GET',
    path: '/api/o/:org/p/:prj/d/',
    permission: 'distributionlist:read',
    status: 200,
    answer: [list],
  },
  {
    number: 17,
    operation: 'Create distribution list',
    method: 'POST',
    path: '/api/o/:org/p/:prj/d/',
    permission: 'distributionlist:write',
    status: 201,
    answer: list,
    body: () => ({ name: `List ${++count}` }),
    refused: refused.newLists,
  },
  {
    number: 18,
    operation: 'Retrieve distribution list',
    method: 'GET',
    path: '/api/o/:org/p/:prj/d/:pk/',
    permission: 'distributionlist:read',
    status: 200,
    answer: list,
  },
  {
    number: 19,
    operation: 'Add recipients',
    method: 'POST',
    path: '/api/o/:org/p/:prj/d/:pk/add/',
    permission: 'distributionlist:write',
    status: 200,
    answer: { added: 'integer', existing: 'integer', created_users: 'integer' },
    body: () => [newEmail(), newEmail()],
    refused: refused.recipients,
  },
  {
    number: 20,
    operation: 'List members',
    method: 'GET',
    path: '/api/o/:org/p/:prj/d/:pk/m/',
    permission: 'distributionlist:read',
    status: 200,
    answer: [member],
  },
];
