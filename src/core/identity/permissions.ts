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
  'occurrence:approve',
  'occurrence:read',
  'occurrence:write',
  'organization:delete',
  'organization:read',
  'organization:write',
  'preference:read',
  'preference:write',
  'security:write',
  'schedule:override',
  'schedule:page',
  'schedule:read',
  'schedule:write',
  'silence:read',
  'silence:write',
  'source:read',
  'source:write',
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

/** The part of an organization that a caller is limited to. */
export interface Scope {
  organization_id: number;
  project_id: number | null;
  application_id: number | null;
}

/** Where an object is: directly in the organization, as users are, or in a project or application. */
export interface ObjectPath {
  organization: { id: number };
  project?: { id: number };
  application?: { id: number };
}

/**
 * What a caller may do, and where. A permission holds only within the scope, so `allows` needs the object: there is no way to
 * read the permissions alone.
 */
export class Grant {
  /** Null if the path has no organization. */
  readonly scope: Scope | null;
  readonly #permissions: readonly string[];

  constructor(granted: readonly string[], scope: Scope | null) {
    this.#permissions = granted;
    this.scope = scope;
  }

  allows(permission: Permission, { organization, project, application }: ObjectPath): boolean {
    const { scope } = this;
    return (
      scope?.organization_id === organization.id &&
      (scope.project_id === null || scope.project_id === project?.id) &&
      (scope.application_id === null || scope.application_id === application?.id) &&
      this.allowsRoute(permission)
    );
  }

  /** Whether a route may be called at all. Only for admission, which then looks for the objects of the path within the scope. */
  allowsRoute(permission: Permission): boolean {
    return includes(this.#permissions, permission);
  }

  /** Returns those permissions that the caller does not have, and therefore cannot grant. */
  lacking<Name extends string>(wanted: readonly Name[]): Name[] {
    return wanted.filter(name => !includes(this.#permissions, name));
  }
}

/** The command line, which has every permission. */
export const fullGrant = new Grant([allPermissions], null);

function includes(granted: readonly string[], needed: string): boolean {
  if (granted.includes(needed)) return true;
  if (needed === allPermissions) return permissions.every(permission => granted.includes(permission));
  return isPermission(needed) && granted.includes(allPermissions);
}
