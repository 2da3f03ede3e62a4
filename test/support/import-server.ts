/** Serves the API of another system on a free port, and says that its rate is exceeded once. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Returns the status. */
type Answer = (request: IncomingMessage, response: ServerResponse, isLimited: boolean) => number;

export async function openImportServer(answer: Answer) {
  const requests: { path: string; status: number; at: number }[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    count++;
    requests.push({ path: request.url!, status: answer(request, response, count === 4), at: performance.now() });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () => new Promise(resolve => server.close(resolve)),
  };
}
