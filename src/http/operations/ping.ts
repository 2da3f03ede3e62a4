import { plain } from '../server/route.ts';
import { Ping } from '../server/schemas.ts';

export const ping = plain([], {
  id: 'ping',
  summary: 'Ping',
  description: 'Checks that the API is reachable and the key is valid.',
  tag: 'System',
  status: 200,
  answer: Ping,
  handle: ({ caller }) => ({ token: caller.name }),
});
