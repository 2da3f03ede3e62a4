/** What a person may do in an organization: each role is a set of permissions and includes the one before it. */
import { allows, type KeyPermission, permissions } from './permissions.ts';

export const roles = ['viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof roles)[number];

const viewer: KeyPermission[] = [
  'account:read',
  'category:read',
  'channel:read',
  'distributionlist:read',
  'event:list',
  'inbox:read',
  'notification:read',
  'occurrence:read',
  'organization:read',
  'preference:read',
  'system:ping',
  'template:read',
  'user:read',
];

const editor: KeyPermission[] = [
  ...viewer,
  'category:write',
  'distributionlist:write',
  'event:trigger',
  'event:write',
  'inbox:write',
  'notification:write',
  'occurrence:write',
  'preference:write',
  'template:write',
  'token:write',
  'user:write',
];

const admin: KeyPermission[] = [
  ...editor,
  'account:write',
  'audit:read',
  'channel:write',
  'configuration:read',
  'configuration:write',
  'key:read',
  'key:write',
  'organization:write',
  'webhook:read',
  'webhook:write',
];

const granted: Record<Role, readonly KeyPermission[]> = {
  viewer: viewer.toSorted(),
  editor: editor.toSorted(),
  admin: admin.toSorted(),
  owner: permissions,
};

export function permissionsOf(role: Role): readonly KeyPermission[] {
  return granted[role];
}

/** Nobody gives, or takes from others, what they do not have themselves: an admin is no match for an owner. */
export function mayGrant(own: readonly string[], role: Role): boolean {
  return granted[role].every(permission => allows(own, permission));
}
