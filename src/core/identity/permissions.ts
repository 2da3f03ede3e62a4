/** Permissions of keys and roles. `*` on a key grants all of them. */
export const permissions = [
  'account:read',
  'account:write',
  'audit:read',
  'category:read',
  'category:write',
  'channel:read',
  'channel:write',
  'configuration:read',
  'configuration:write',
  'distributionlist:read',
  'distributionlist:write',
  'event:list',
  'event:trigger',
  'event:write',
  'inbox:read',
  'inbox:write',
  'key:read',
  'key:write',
  'notification:read',
  'notification:write',
  'occurrence:read',
  'occurrence:write',
  'organization:delete',
  'organization:read',
  'organization:write',
  'preference:read',
  'preference:write',
  'security:write',
  'system:ping',
  'template:read',
  'template:write',
  'token:write',
  'user:read',
  'user:write',
  'webhook:read',
  'webhook:write',
] as const;

/** Permissions that only instance admins have: keys and roles are limited to one organization. */
export const instancePermissions = ['limit:write', 'organization:create'] as const;

export type KeyPermission = (typeof permissions)[number];
export type Permission = KeyPermission | (typeof instancePermissions)[number];
/** Grants every permission. */
export const allPermissions = '*';

export function isPermission(text: string): text is KeyPermission | typeof allPermissions {
  return text === allPermissions || (permissions as readonly string[]).includes(text);
}

export function allows(granted: readonly string[], needed: Permission | typeof allPermissions): boolean {
  if (granted.includes(needed)) return true;
  if (needed === allPermissions) return permissions.every(permission => granted.includes(permission));
  return isPermission(needed) && granted.includes(allPermissions);
}
