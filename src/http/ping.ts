import { plain, type Route } from './route.ts';
import { Ping } from './schemas.ts';

export const pingRoutes: Route[] = [
  plain({
    method: 'GET',
    path: '/api/system/ping/',
    permission: 'system:ping',
    id: 'ping',
    summary: 'Ping',
    description: 'Tells that the API is reachable and the key valid.',
    tag: 'System',
    status: 200,
    answer: Ping,
    handle: ({ caller }) => ({ token: caller.name }),
  }),
];
