/**
 * A strict OTLP/HTTP collector on loopback: it checks the path, the content type and every span. Tests expect its list of
 * mistakes to be empty.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { expect } from 'vitest';
import { eventually } from './eventually.ts';

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  name: string;
  kind: string;
  startNs: bigint;
  endNs: bigint;
  attributes: Record<string, string | number | boolean>;
  links: { traceId: string; spanId: string }[];
  isError: boolean;
  resource: Record<string, string | number | boolean>;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  mistakes: string[];
  /** Headers of the requests so far. */
  headers: IncomingMessage['headers'][];
  /** Status of the following responses. */
  answer: 'take' | 'hang' | 'refuse';
  /** Waits until a trace has as many spans of these names, and returns them by start time. */
  trace(traceId: string, ...names: string[]): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

const kinds = ['unspecified', 'internal', 'server', 'client', 'producer', 'consumer'];

export async function openCollector(): Promise<Collector> {
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (collector.answer === 'hang') return;
    collector.headers.push(request.headers);
    if (collector.answer === 'refuse') return void response.writeHead(401).end();
    try {
      collector.spans.push(...readRequest(request, Buffer.concat(chunks)));
    } catch (error) {
      collector.mistakes.push((error as Error).message);
      return void response.writeHead(400).end();
    }
    const type = request.headers['content-type']!;
    response.writeHead(200, { 'content-type': type }).end(type === 'application/json' ? '{}' : '');
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    mistakes: [],
    headers: [],
    answer: 'take',
    trace: (traceId, ...names) =>
      eventually(() => {
        expect(collector.mistakes).toEqual([]);
        const own = collector.spans.filter(span => span.traceId === traceId);
        expect(own.map(span => span.name).sort()).toEqual(names.toSorted());
        return own.toSorted((a, b) => (a.startNs < b.startNs ? -1 : 1));
      }, 10_000),
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return collector;
}

function readRequest({ method, url, headers }: IncomingMessage, bytes: Buffer): CollectedSpan[] {
  if (method !== 'POST' || url !== '/v1/traces') throw new Error(`${method} ${url} is not POST /v1/traces`);
  const type = headers['content-type'];
  if (type === 'application/json') return check(fromJson(JSON.parse(bytes.toString('utf8'))));
  if (type === 'application/x-protobuf') return check(fromProtobuf(bytes));
  throw new Error(`Content-Type: ${type}`);
}

function check(spans: CollectedSpan[]): CollectedSpan[] {
  for (const span of spans) {
    const wrong = (what: string) => new Error(`${span.name}: ${what}`);
    if (!/^[\da-f]{32}$/.test(span.traceId) || /^0+$/.test(span.traceId)) throw wrong(`trace id ${span.traceId}`);
    if (!/^[\da-f]{16}$/.test(span.spanId) || /^0+$/.test(span.spanId)) throw wrong(`span id ${span.spanId}`);
    if (!/^([\da-f]{16})?$/.test(span.parentSpanId)) throw wrong(`parent ${span.parentSpanId}`);
    if (!span.name) throw wrong('no name');
    if (!span.kind || span.kind === 'unspecified') throw wrong('no kind');
    const ageMs = Date.now() - Number(span.startNs / 1_000_000n);
    if (span.endNs < span.startNs || ageMs < -1_000 || ageMs > 120_000) throw wrong('times that cannot be');
    if (typeof span.resource['service.name'] !== 'string') throw wrong('no service.name');
  }
  return spans;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever was sent
type Sent = any;

function fromJson(request: Sent): CollectedSpan[] {
  return request.resourceSpans.flatMap((ofResource: Sent) =>
    ofResource.scopeSpans.flatMap((ofScope: Sent) =>
      ofScope.spans.map((span: Sent) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: kinds[span.kind],
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
        attributes: pairsOfJson(span.attributes),
        links: span.links.map(({ traceId, spanId }: Sent) => ({ traceId, spanId })),
        isError: span.status.code === 2,
        resource: pairsOfJson(ofResource.resource.attributes),
      })),
    ),
  );
}

function pairsOfJson(pairs: Sent[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    pairs.map(({ key, value }) => {
      const [[type, plain]] = Object.entries(value) as [[string, string | number | boolean]];
      if (!['stringValue', 'intValue', 'boolValue', 'doubleValue'].includes(type)) throw new Error(`${key}: ${type}`);
      return [key, type === 'intValue' ? Number(plain) : plain];
    }),
  );
}

/** Returns the fields of a message by number: varints and fixed-size numbers as bigint, others as bytes. */
function fieldsOf(bytes: Buffer): Map<number, (Buffer | bigint)[]> {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number) => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    let value: Buffer | bigint;
    if (wire === 0) value = varint();
    else if (wire === 1) value = take(8).readBigUInt64LE();
    else if (wire === 2) value = take(Number(varint()));
    else if (wire === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`wire type ${wire}`);
    if (at > bytes.length) throw new Error('a message ends too early');
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

const all = (fields: Map<number, (Buffer | bigint)[]>, number: number) => (fields.get(number) ?? []) as Buffer[];
const text = (fields: Map<number, (Buffer | bigint)[]>, number: number) => all(fields, number)[0]?.toString() ?? '';
const hex = (fields: Map<number, (Buffer | bigint)[]>, number: number) => all(fields, number)[0]?.toString('hex') ?? '';
const int = (fields: Map<number, (Buffer | bigint)[]>, number: number) => (fields.get(number)?.[0] ?? 0n) as bigint;

/** Field numbers are those of opentelemetry/proto/trace/v1/trace.proto. */
function fromProtobuf(bytes: Buffer): CollectedSpan[] {
  return all(fieldsOf(bytes), 1)
    .map(fieldsOf)
    .flatMap(ofResource => {
      const resource = pairsOfProtobuf(all(fieldsOf(all(ofResource, 1)[0]!), 1));
      const scopes = all(ofResource, 2).map(fieldsOf);
      return scopes
        .flatMap(scope => all(scope, 2))
        .map(fieldsOf)
        .map(span => ({
          traceId: hex(span, 1),
          spanId: hex(span, 2),
          parentSpanId: hex(span, 4),
          name: text(span, 5),
          kind: kinds[Number(int(span, 6))]!,
          startNs: int(span, 7),
          endNs: int(span, 8),
          attributes: pairsOfProtobuf(all(span, 9)),
          links: all(span, 13)
            .map(fieldsOf)
            .map(link => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
          isError: int(fieldsOf(all(span, 15)[0] ?? Buffer.alloc(0)), 3) === 2n,
          resource,
        }));
    });
}

function pairsOfProtobuf(pairs: Buffer[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    pairs.map(fieldsOf).map(pair => {
      const value = fieldsOf(all(pair, 2)[0]!);
      if (value.has(1)) return [text(pair, 1), text(value, 1)];
      if (value.has(2)) return [text(pair, 1), int(value, 2) === 1n];
      if (value.has(3)) return [text(pair, 1), Number(int(value, 3))];
      throw new Error(`${text(pair, 1)} has a value of another type`);
    }),
  );
}
