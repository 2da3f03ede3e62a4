/** The route table, grouped by who may call. */
import { isPermission, type KeyPermission } from '../../src/core/identity/permissions.ts';
import { routes } from '../../src/http/routes.ts';
import type { Route } from '../../src/http/server/route.ts';

type KeyRoute = Route & { permission: KeyPermission };

/** Routes with a permission that an API key or a role can have. */
export const keyRoutes = routes.filter((route): route is KeyRoute => isPermission(route.permission));
export const publicRoutes = routes.filter(route => route.permission === 'public');
export const sessionOnlyRoutes = routes.filter(
  route => route.permission !== 'public' && !isPermission(route.permission),
);
