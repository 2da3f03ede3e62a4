/** A scripted DNS server on loopback (UDP), and `dns.lookup` redirected to it. */
import { createSocket } from 'node:dgram';
import { promises as dns, type LookupAddress } from 'node:dns';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { vi } from 'vitest';

export interface DnsRecord {
  name?: string;
  type: 'A' | 'AAAA' | 'CNAME';
  /** An address, or the target of a CNAME. */
  data: string;
}

export interface DnsServer {
  /** Sets the records of a name: one list per lookup; the last one is repeated. */
  answers(name: string, ...lists: DnsRecord[][]): void;
  /** Returns how often a name was looked up. */
  lookups(name: string): number;
  close(): void;
}

const types = { A: 1, CNAME: 5, AAAA: 28 };

/** Redirects `dns.lookup` to this server until the mocks are restored. */
export async function openDnsServer(): Promise<DnsServer> {
  const zone = new Map<string, { lists: DnsRecord[][]; lookups: number }>();
  const current = new Map<string, DnsRecord[]>();
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    const records = (current.get(name) ?? []).filter(({ type: own }) => own === 'CNAME' || types[own] === type);
    socket.send(writeAnswer(query.subarray(0, end), name, records), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers([`127.0.0.1:${(socket.address() as AddressInfo).port}`]);

  vi.spyOn(dns, 'lookup').mockImplementation((async (host: string) => {
    const known = zone.get(host);
    if (!known) throw Object.assign(new Error(`no such name: ${host}`), { code: 'ENOTFOUND' });
    known.lookups++;
    current.set(host, known.lists.length > 1 ? known.lists.shift()! : known.lists[0]!);
    const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    return found.flatMap((answer, i): LookupAddress[] =>
      answer.status === 'fulfilled' ? answer.value.map(address => ({ address, family: i === 0 ? 4 : 6 })) : [],
    );
  }) as never);

  return {
    answers: (name, ...lists) => void zone.set(name, { lists, lookups: zone.get(name)?.lookups ?? 0 }),
    lookups: name => zone.get(name)?.lookups ?? 0,
    close: () => void socket.close(),
  };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** Repeats the question and adds records with a time to live of 0, so that they are not cached. */
function writeAnswer(question: Buffer, name: string, records: DnsRecord[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(records.length, 6);
  head.fill(0, 8, 12);
  const written = records.map(record => {
    const data = record.type === 'CNAME' ? writeName(record.data) : writeAddress(record.data);
    const fixed = Buffer.alloc(10);
    fixed.writeUInt16BE(types[record.type], 0);
    fixed.writeUInt16BE(1, 2);
    fixed.writeUInt16BE(data.length, 8);
    return Buffer.concat([writeName(record.name ?? name), fixed, data]);
  });
  return Buffer.concat([head, ...written]);
}

function writeName(name: string): Buffer {
  const labels = name.split('.').map(label => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function writeAddress(address: string): Buffer {
  if (!address.includes(':')) return Buffer.from(address.split('.').map(Number));
  // URL normalizes every IPv6 address, including one with an IPv4 suffix, to groups of 16 bits.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const words = (part: string) => (part === '' ? [] : part.split(':').map(word => Number.parseInt(word, 16)));
  const [first, last] = [words(head), words(tail)];
  const all = [...first, ...Array(8 - first.length - last.length).fill(0), ...last];
  return Buffer.from(all.flatMap(word => [word >> 8, word & 255]));
}
