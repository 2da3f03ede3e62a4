/** Addresses and networks in CIDR notation: 10.0.0.1, 10.0.0.0/8, fd00::/8. */
import { BlockList, isIP } from 'node:net';

export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Returns whether every address of a network is in one of the others. */
export function isWithinNetworks(network: string, others: readonly string[]): boolean {
  const [address = ''] = network.split('/');
  return others.some(other => prefixOf(other) <= prefixOf(network) && createNetworkCheck([other])(address));
}

/** Returns the prefix length of a network, counted as IPv6, where IPv4 is ::ffff:0:0/96. */
function prefixOf(network: string): number {
  const [address = '', bits] = network.split('/');
  return isIP(address) === 4 ? 96 + Number(bits ?? 32) : Number(bits ?? 128);
}

/** Checks whether an address is in one of the networks. An IPv4-mapped IPv6 address counts as the IPv4 address. */
export function createNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return address => {
    const plain = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  };
}
