/**
 * The users that a caller may see. A user belongs to the organization, so a key that is limited to a project or application sees
 * only those on the distribution lists of the project.
 */
import type { Grant, ObjectPath } from './permissions.ts';

/** All users of the organization, those on lists of the project, or none. */
export type VisibleUsers = 'all' | 'project' | 'none';

/** Returns which users the caller may see at this path. */
export function visibleUsers(grant: Grant, path: ObjectPath): VisibleUsers {
  if (grant.allows('user:read', { organization: path.organization })) return 'all';
  return grant.allows('user:read', path) ? 'project' : 'none';
}
