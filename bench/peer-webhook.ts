/** A webhook receiver that accepts everything and reports the `n` of the title to the parent process. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  response.end();
  process.send?.(Number(/n (\d+)/.exec(body)?.[1]));
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));
