/** IP addresses and networks as numbers. */
export interface Network {
  family: 4 | 6;
  value: bigint;
  /** Length of the prefix in bits. */
  bits: number;
}

/** Returns the network of one address, or undefined if the text is no IP address. */
export function parseAddress(text: string): Network | undefined {
  if (/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text) && !text.endsWith('.')) {
    const value = text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    return { family: 4, value, bits: 32 };
  }
  if (!text.includes(':') || !/^[0-9a-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined;
  return { family: 6, value: BigInt(`0x${wordsOf(text).join('')}`), bits: 128 };
}

/** Returns the eight words of an IPv6 address, four hexadecimal digits each. */
function wordsOf(text: string): string[] {
  // A URL has the address in its canonical form, without an IPv4 part.
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const split = (part = '') => (part === '' ? [] : part.split(':'));
  const zeros = tail === undefined ? [] : Array<string>(8 - split(head).length - split(tail).length).fill('0');
  return [...split(head), ...zeros, ...split(tail)].map(word => word.padStart(4, '0'));
}

export function includesAddress(network: Network, address: Network): boolean {
  if (network.family !== address.family) return false;
  const shift = BigInt((network.family === 4 ? 32 : 128) - network.bits);
  return network.value >> shift === address.value >> shift;
}

/** Returns the name under which the host name of an address is published. */
export function reverseNameOf(address: string): string {
  if (!address.includes(':')) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  return `${[...wordsOf(address).join('')].reverse().join('.')}.ip6.arpa`;
}
