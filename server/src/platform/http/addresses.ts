import { BlockList, isIP, SocketAddress } from 'node:net';
import { RuleError } from '@szafa/protocol';

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;
const MAPPED_BITS = 96;

/**
 * Normalizes an address: no brackets, no zone, short IPv6, mapped IPv6 (`::ffff:10.0.0.1`) as IPv4. Null if it is not an
 * address.
 */
export function plainAddress(text: string): string | null {
  const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 0) return null;
  if (family === 4) return bare;
  const { address } = new SocketAddress({ address: bare, family: 'ipv6' });
  return MAPPED.exec(address)?.[1] ?? address;
}

/** A list of networks, as in SZ_PULL_ALLOW and SZ_TRUST_PROXY. */
export class Cidrs {
  readonly #list = new BlockList();
  /** Caches the last result: usually for a proxy, which each request looks up several times. */
  #last = { address: '', isInside: false };

  add(entry: string): void {
    const [, network, bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const address = network === undefined || network.includes('%') ? null : plainAddress(network);
    if (network === undefined || address === null) throw new RuleError(`"${entry}" is not a network address`);
    const type = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    const most = type === 'ipv4' ? 32 : 128;
    const mapped = type === 'ipv4' && network.includes(':');
    const prefix = bits === undefined ? most : Number(bits) - (mapped ? MAPPED_BITS : 0);
    if (prefix < 0 || prefix > most) throw new RuleError(`"${entry}" has an impossible prefix length`);
    this.#list.addSubnet(address, prefix, type);
    this.#last = { address: '', isInside: false };
  }

  get isEmpty(): boolean {
    return this.#list.rules.length === 0;
  }

  contains(address: string): boolean {
    if (address !== this.#last.address) this.#last = { address, isInside: this.#check(address) };
    return this.#last.isInside;
  }

  #check(address: string): boolean {
    const plain = plainAddress(address);
    return plain !== null && this.#list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
  }
}

/** Parses networks or single addresses, separated by commas or spaces. */
export function parseCidrs(text: string): Cidrs {
  const cidrs = new Cidrs();
  for (const entry of text.split(/[\s,]+/)) if (entry !== '') cidrs.add(entry);
  return cidrs;
}

/** The network of one customer: a single IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(text: string): string {
  const address = plainAddress(text) ?? text;
  if (isIP(address) !== 6) return address;
  const [before = '', after] = address.split('::');
  const left = before === '' ? [] : before.split(':');
  const right = after ? after.split(':') : [];
  const gap = after === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(gap).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}

const LOOPBACK = parseCidrs('127.0.0.0/8 ::1');
/** Addresses that are valid only inside a machine or a private network. */
const INSIDE = parseCidrs(
  '127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 100.64.0.0/10 ::1 fc00::/7 fe80::/10',
);
export const isLoopback = (address: string) => LOOPBACK.contains(address);
export const isInside = (address: string) => INSIDE.contains(address);
