import { plain } from './route.ts';
import { Ping } from './schemas.ts';

export const ping = plain([], {
  id: 'ping',
  summary: 'Ping',
  description: 'Tells that the API is reachable and the key valid.',
  tag: 'System',
  status: 200,
  answer: Ping,
  handle: ({ caller }) => ({ token: caller.name }),
});
