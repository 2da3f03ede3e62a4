/** What a key may do. `*` on a key means all of them. */
export const permissions = [
  'system:ping',
  'organization:read',
  'user:read',
  'user:write',
  'event:list',
  'event:trigger',
  'event:write',
  'channel:write',
  'distributionlist:read',
  'distributionlist:write',
  'occurrence:read',
  'occurrence:write',
  'inbox:read',
  'inbox:write',
  'key:read',
  'key:write',
  'audit:read',
  'configuration:read',
  'configuration:write',
] as const;

export type Permission = (typeof permissions)[number];
export const everything = '*';

export function isPermission(text: string): text is Permission | typeof everything {
  return text === everything || (permissions as readonly string[]).includes(text);
}

export function allows(granted: readonly string[], needed: Permission | typeof everything): boolean {
  return granted.includes(needed) || granted.includes(everything);
}
