import { endpoints } from '../server/route.ts';
import { Ping } from '../server/schemas.ts';

const { plain } = endpoints('System');

export const ping = plain([], {
  id: 'ping',
  summary: 'Ping',
  description: 'Checks that the API is reachable and the key is valid.',
  answer: Ping,
  handle: ({ caller }) => ({ token: caller.name }),
});
