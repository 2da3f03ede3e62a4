/** A DNS server on loopback (UDP and TCP) that serves one zone, with faults for some names. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import dnsPacket from 'dns-packet';

/** Records by `NAME TYPE`. A TXT text is split into strings of 255 characters; an MX record is `PREFERENCE NAME`. */
export type Zone = Record<string, string | string[]>;

/** `drop`: no answer at all. */
export type Fault = 'SERVFAIL' | 'REFUSED' | 'drop';

export interface ZoneServer {
  /** Address and port. */
  address: string;
  /** Replaces the zone. */
  serve(zone: Zone, faults?: Record<string, Fault>): void;
  /** Questions so far as `NAME TYPE`. */
  questions: string[];
  close(): Promise<void>;
}

const rcodes = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 };
const maxUdpBytes = 512;

export async function openZoneServer(): Promise<ZoneServer> {
  let current: { zone: Zone; faults: Record<string, Fault> } = { zone: {}, faults: {} };
  const questions: string[] = [];

  const answer = (query: Buffer): { packet: Buffer; short: Buffer } | undefined => {
    const { id, questions: [question] = [] } = dnsPacket.decode(query);
    const { name, type } = question!;
    const key = `${name.toLowerCase()} ${type}`;
    questions.push(key);
    const fault = current.faults[key];
    if (fault === 'drop') return undefined;
    const answers = answersOf(current.zone, name.toLowerCase(), type);
    const exists = Object.keys(current.zone).some(one => one.startsWith(`${name.toLowerCase()} `));
    const rcode = fault ? rcodes[fault] : exists ? 0 : rcodes.NXDOMAIN;
    const head = { type: 'response' as const, id, questions: [question!] };
    const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | rcode;
    return {
      packet: dnsPacket.encode({ ...head, flags, answers: fault ? [] : answers }),
      short: dnsPacket.encode({ ...head, flags: flags | dnsPacket.TRUNCATED_RESPONSE }),
    };
  };

  const tcp = createServer(socket => readFrames(socket, query => answer(query)?.packet));
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const { port } = tcp.address() as AddressInfo;
  const udp = createSocket('udp4');
  udp.on('message', (query, from) => {
    const made = answer(query);
    if (made) udp.send(made.packet.length > maxUdpBytes ? made.short : made.packet, from.port, from.address);
  });
  udp.bind(port, '127.0.0.1');
  await once(udp, 'listening');

  return {
    address: `127.0.0.1:${port}`,
    serve: (zone, faults = {}) => {
      current = { zone, faults };
      questions.length = 0;
    },
    questions,
    close: async () => {
      udp.close();
      tcp.close();
      await once(tcp, 'close');
    },
  };
}

/** Returns the records of a name, following aliases like a resolver. */
function answersOf(zone: Zone, name: string, type: string): dnsPacket.Answer[] {
  const records = (wanted: string) => [zone[`${name} ${wanted}`] ?? []].flat();
  const [alias] = records('CNAME');
  if (alias !== undefined && type !== 'CNAME') {
    return [{ type: 'CNAME', name, data: alias, ttl: 0 }, ...answersOf(zone, alias, type)];
  }
  return records(type).map((value): dnsPacket.Answer => {
    if (type === 'TXT') return { type, name, ttl: 0, data: value.match(/.{1,255}/gs) ?? [''] };
    const [preference = '', exchange = ''] = value.split(' ');
    if (type === 'MX') return { type, name, ttl: 0, data: { preference: Number(preference), exchange } };
    return { type: type as 'A', name, ttl: 0, data: value };
  });
}

/** Over TCP, each message follows its length in two bytes. */
function readFrames(socket: Socket, answer: (query: Buffer) => Buffer | undefined): void {
  let rest = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', chunk => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2 && rest.length >= 2 + rest.readUInt16BE(0)) {
      const end = 2 + rest.readUInt16BE(0);
      const packet = answer(rest.subarray(2, end));
      rest = rest.subarray(end);
      if (!packet) continue;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(packet.length);
      socket.write(Buffer.concat([length, packet]));
    }
  });
}
