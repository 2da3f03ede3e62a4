/** Roles of accounts in an organization. Each role includes the permissions of the previous one. */
import { type Grant, type KeyPermission, permissions } from './permissions.ts';

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
  'schedule:read',
  'silence:read',
  'source:read',
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
  'schedule:override',
  'schedule:page',
  'schedule:write',
  'silence:write',
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
  'occurrence:approve',
  'organization:write',
  'source:write',
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

/**
 * Whether an account or key may grant or revoke the role: only if it has all of the role's permissions itself. An admin
 * therefore cannot make or remove an owner.
 */
export function mayGrant(own: Grant, role: Role): boolean {
  return own.lacking(granted[role]).length === 0;
}

/** Whether the one role has all permissions of the other. */
export function includesRole(role: Role, other: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(other);
}
