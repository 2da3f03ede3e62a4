/**
 * Which addresses tenants may make us connect to: the public internet, and the networks that the operator allows.
 * Everything else could be the operator's own machines, among them the cloud's metadata services.
 */
import { promises as dns } from 'node:dns';
import { BlockList, isIP } from 'node:net';
import { OutboundError } from './outbound-error.ts';

/** IANA's special-purpose registry, what is not globally reachable of it, and one address that is and should not be. */
const closedIPv4 = networks([
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '168.63.129.16/32', // the platform behind every virtual machine on Azure
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

/** Only this part of IPv6 is public, so that loopback, link-local, private and multicast need no naming. */
const openIPv6 = networks(['2000::/3']);
const closedIPv6 = networks([
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
  /** The addresses of a host that may be connected to, in the system's order of preference; at least one. */
  addresses(host: string): Promise<Address[]>;
}

export function createGuard(allow: readonly string[]): Guard {
  const allowed = networks(allow);

  const allows = (address: string): boolean => {
    const inner = embeddedIPv4(address) ?? address;
    if (includes(allowed, address) || includes(allowed, inner)) return true;
    if (isIP(inner) === 4) return !includes(closedIPv4, inner);
    return includes(openIPv6, inner) && !includes(closedIPv6, inner);
  };

  return {
    allows,
    async addresses(host) {
      const found = await findAddresses(host);
      const good = found.filter(({ address }) => allows(address));
      if (good.length === 0) throw refusal(host);
      return good;
    },
  };
}

/** The address itself stays unsaid: a tenant has no business learning what a name means inside. */
export function refusal(host: string): OutboundError {
  const advice = 'allow its network with BELFRY_OUTBOUND_ALLOW, such as 127.0.0.0/8 for this machine';
  return new OutboundError('refused', false, `${host} is a private or reserved address, not to be reached: ${advice}`);
}

async function findAddresses(host: string): Promise<Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family as 4 | 6 }];
  try {
    return (await dns.lookup(host, { all: true, order: 'verbatim' })) as Address[];
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OutboundError('connect', false, `${host} cannot be found in the DNS (${code})`, error);
  }
}

/**
 * The IPv4 address that an IPv6 address stands for: mapped (::ffff:0:0/96), translated by NAT64 (64:ff9b::/96) or
 * tunnelled by 6to4 (2002::/16). NAT64 must not be refused as such: behind it, every IPv4 host looks like this.
 */
function embeddedIPv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const words = toWords(address);
  const prefix = words.slice(0, 6).join(':');
  if (prefix === '0:0:0:0:0:65535' || prefix === `${0x64}:${0xff9b}:0:0:0:0`) return dotted(words[6]!, words[7]!);
  if (words[0] === 0x2002) return dotted(words[1]!, words[2]!);
  return undefined;
}

/** The eight 16-bit words of a valid IPv6 address. */
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
