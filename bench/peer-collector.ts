/**
 * A collector that takes every export over OTLP and counts its spans, by their lengths alone: where both share the cores, a costly
 * receiver would hide what exporting costs.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let spans = 0;

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  // Of the request the resources, of those the scopes, of those the spans.
  for (const resource of messagesOf(Buffer.concat(chunks), 1)) {
    for (const scope of messagesOf(resource, 2)) spans += messagesOf(scope, 2).length;
  }
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));
/** Asked for anything, it tells what has come so far. */
process.on('message', () => process.send?.({ spans }));

/** The messages in the field of this number, where all fields have a length. */
function messagesOf(bytes: Buffer, wanted: number): Buffer[] {
  const found: Buffer[] = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes.readUInt8(at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag % 8 !== 2) throw new Error(`field ${tag >> 3} has no length`);
    const end = varint() + at;
    if (tag >> 3 === wanted) found.push(bytes.subarray(at, end));
    at = end;
  }
  return found;
}
