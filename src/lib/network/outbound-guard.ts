/**
 * Decides which addresses tenants may make Belfry connect to: the public internet, and the networks that the operator
 * allows. Everything else could be the operator's own machines, such as the cloud's metadata service.
 */
import { promises as dns } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { isLocalFailure, OutboundError } from './outbound-error.ts';

/** The networks of IANA's special-purpose registry that are not globally reachable, and one address of Azure's hosts. */
const blockedIPv4 = networks([
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '168.63.129.16/32', // the host of every virtual machine on Azure; globally reachable according to IANA
  '169.254.0.0/16', // link-local, with most clouds' metadata
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
]);

/** Only this part of IPv6 is public, so loopback, link-local, private and multicast need not be listed. */
const publicIPv6 = networks(['2000::/3']);
const blockedIPv6 = networks([
  '2001::/23', // protocols: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '3fff::/20', // documentation
]);

export interface Address {
  address: string;
  family: 4 | 6;
}

export interface Guard {
  allows(address: string): boolean;
  /** Whether it is in the networks that the operator allows. */
  isAllowed(address: string): boolean;
  /** Returns the permitted addresses of a host in the system's order of preference; throws if there are none. */
  addresses(host: string): Promise<Address[]>;
}

export function createGuard(allow: readonly string[]): Guard {
  const allowed = networks(allow);

  const isAllowed = (address: string): boolean =>
    includes(allowed, address) || includes(allowed, embeddedIPv4(address) ?? address);

  const allows = (address: string): boolean => {
    const inner = embeddedIPv4(address) ?? address;
    if (isAllowed(address)) return true;
    if (isIP(inner) === 4) return !includes(blockedIPv4, inner);
    return includes(publicIPv6, inner) && !includes(blockedIPv6, inner);
  };

  return {
    allows,
    isAllowed,
    async addresses(host) {
      const found = await resolveHost(host);
      const permitted = found.filter(({ address }) => allows(address));
      if (permitted.length === 0) throw forbiddenAddress(host);
      return permitted;
    },
  };
}

/** The message does not contain the resolved address: a tenant must not learn internal addresses. */
export function forbiddenAddress(host: string): OutboundError {
  const advice = 'allow its network with BELFRY_OUTBOUND_ALLOW, such as 127.0.0.0/8 for this machine';
  return new OutboundError('refused', false, `${host} is a private or reserved address: ${advice}`);
}

async function resolveHost(host: string): Promise<Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family as 4 | 6 }];
  try {
    return (await dns.lookup(host, { all: true, order: 'verbatim' })) as Address[];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const kind = isLocalFailure(error as NodeJS.ErrnoException) ? 'local' : 'connect';
    throw new OutboundError(kind, false, `${host} cannot be resolved (${code})`, error);
  }
}

/**
 * Returns the IPv4 address that an IPv6 address represents: mapped (::ffff:0:0/96), translated by NAT64 (64:ff9b::/96) or
 * tunnelled by 6to4 (2002::/16). NAT64 must not be refused as a whole: behind it, every IPv4 host has such an address.
 */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const words = toWords(address);
  const prefix = words.slice(0, 6).join(':');
  if (prefix === '0:0:0:0:0:65535' || prefix === `${0x64}:${0xff9b}:0:0:0:0`) return dotted(words[6]!, words[7]!);
  if (words[0] === 0x2002) return dotted(words[1]!, words[2]!);
  return undefined;
}

/** Returns the eight 16-bit words of a valid IPv6 address. */
function toWords(address: string): number[] {
  const hex = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [a * 256 + +b, c * 256 + +d].map(word => word.toString(16)).join(':'),
  );
  const [head = [], tail] = hex.split('::').map(side => (side === '' ? [] : side.split(':')));
  const zeros = tail ? Array(8 - head.length - tail.length).fill('0') : [];
  return [...head, ...zeros, ...(tail ?? [])].map(word => Number.parseInt(word, 16));
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function networks(list: readonly string[]): BlockList {
  const result = new BlockList();
  for (const entry of list) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address);
    if (family === 0) throw new Error(`${entry} is not a network`);
    if (family === 4) result.addSubnet(address, Number(bits ?? 32), 'ipv4');
    else result.addSubnet(address, Number(bits ?? 128), 'ipv6');
  }
  return result;
}

function includes(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
