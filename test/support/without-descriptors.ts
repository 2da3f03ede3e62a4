/**
 * Sends requests to a URL while this process has no file descriptors left, and again when it has. Prints what came of each as a JSON
 * array. Run it with a low `ulimit -n`.
 */
import { closeSync, openSync } from 'node:fs';
import { createOutbound, OutboundError } from '../../src/lib/network/outbound.ts';

const url = new URL(process.argv[2]!);
const named = new URL(url);
named.hostname = 'localhost';
const outbound = createOutbound({ allow: ['127.0.0.0/8', '::1/128'] });
const send = (to: URL, connection: string) =>
  outbound.request(to.href, { method: 'POST', body: '{}', connection }).then(
    ({ status }) => status,
    error => (error instanceof OutboundError ? [error.kind, error.sent] : String(error)),
  );

function takeAll(): () => void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    return () => taken.forEach(each => void closeSync(each));
  }
}

const results: unknown[] = [];
let giveBack = takeAll();
results.push(await send(url, 'a'));
giveBack();
results.push(await send(url, 'a'));
giveBack = takeAll();
results.push(await send(url, 'b'), await send(named, 'c'));
giveBack();
results.push(await send(url, 'b'));
process.stdout.write(JSON.stringify(results));
await outbound.close();
