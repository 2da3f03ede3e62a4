/** The route table, by who may call. */
import { isPermission, type KeyPermission } from '../../src/core/permissions.ts';
import type { Route } from '../../src/http/route.ts';
import { routes } from '../../src/http/routes.ts';

type KeyRoute = Route & { permission: KeyPermission };

/** What a key can be given the permission for, and a person the role. */
export const keyRoutes = routes.filter((route): route is KeyRoute => isPermission(route.permission));
export const publicRoutes = routes.filter(route => route.permission === 'public');
export const sessionOnlyRoutes = routes.filter(
  route => route.permission !== 'public' && !isPermission(route.permission),
);
