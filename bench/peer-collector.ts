/**
 * A collector that accepts every OTLP export and counts spans by reading only field lengths: on shared cores, an expensive
 * receiver would hide the cost of exporting.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let spans = 0;

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  // A request contains resources, which contain scopes, which contain spans.
  for (const resource of messagesOf(Buffer.concat(chunks), 1)) {
    for (const scope of messagesOf(resource, 2)) spans += messagesOf(scope, 2).length;
  }
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));
/** Any message is a request for the count so far. */
process.on('message', () => process.send?.({ spans }));

/** Returns the messages in the field with this number; all fields must be length-delimited. */
function messagesOf(bytes: Buffer, field: number): Buffer[] {
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
    if (tag % 8 !== 2) throw new Error(`field ${tag >> 3} is not length-delimited`);
    const end = varint() + at;
    if (tag >> 3 === field) found.push(bytes.subarray(at, end));
    at = end;
  }
  return found;
}
