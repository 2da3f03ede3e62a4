/** What a key or a person may do. `*` on a key means all of these. */
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

/** Of admin accounts alone: a key belongs to one organization, and so does a role. */
export const instancePermissions = ['limit:write', 'organization:create'] as const;

export type KeyPermission = (typeof permissions)[number];
export type Permission = KeyPermission | (typeof instancePermissions)[number];
export const everything = '*';

export function isPermission(text: string): text is KeyPermission | typeof everything {
  return text === everything || (permissions as readonly string[]).includes(text);
}

export function allows(granted: readonly string[], needed: Permission | typeof everything): boolean {
  if (granted.includes(needed)) return true;
  if (needed === everything) return permissions.every(permission => granted.includes(permission));
  return isPermission(needed) && granted.includes(everything);
}
