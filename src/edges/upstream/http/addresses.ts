/**
 * Which addresses a server may send the bridge to. An address in an entry is the user's choice and may be anywhere. An address
 * from a response (a redirect, the metadata of a login) must not lead from the internet into the user's networks (server-side
 * request forgery; MCP "Security Best Practices").
 */
import dns from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

type Subnet = readonly [address: string, prefix: number];

/** Never needed for a login, and where clouds serve the credentials of a machine. */
const LINK_LOCAL = blockList([
  ['169.254.0.0', 16],
  ...inIpv6(['169.254.0.0', 16]),
  ['fe80::', 10],
  ['fd00:ec2::254', 128],
  ['100.100.100.200', 32],
]);
/** Networks of IPv4 that are not on the internet (IANA special-purpose registry): loopback, private and others. */
const PRIVATE_IPV4: readonly Subnet[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
/** The same for IPv6, including the addresses in which a gateway finds one of those of IPv4 (NAT64, 6to4, RFC 4291). */
const PRIVATE = blockList([
  ...PRIVATE_IPV4,
  ...PRIVATE_IPV4.flatMap(inIpv6),
  ['64:ff9b:1::', 48],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]);

/** This machine, including `0.0.0.0` and `::`, which connect to it too. */
const LOOPBACK = blockList([
  ['127.0.0.0', 8],
  ['0.0.0.0', 32],
  ['::', 127],
]);
/** Names of this machine (RFC 6761, section 6.3). */
const LOCALHOST = /(?:^|\.)localhost$/i;
/** Names that do not exist on the internet: those without a dot, and reserved ones (RFC 6761, RFC 6762, ICANN 2024). */
const INTERNAL_NAME = /^[^.]+$|\.(?:localhost|local|internal|home\.arpa|lan|corp|intranet)$/i;

/** Returns the reason why an address must not be connected to, or undefined if it may be. */
export type AddressRule = (address: string) => string | undefined;

/** For addresses that the user configured. */
export const anyAddress: AddressRule = () => undefined;

/** For addresses from a server on the internet. */
export const publicAddress: AddressRule = (address) =>
  isPrivateAddress(address) ? 'it is an address in a private network' : undefined;

/** For addresses from a server in a private network, which can reach that network anyway, but not this machine. */
export const neighborAddress: AddressRule = (address) =>
  holds(LOOPBACK, address) ? 'it is an address of this machine' : localAddress(address);

/** For addresses from a server on this machine. */
export const localAddress: AddressRule = (address) =>
  holds(LINK_LOCAL, address) ? 'it is a link-local address' : undefined;

/** Whether an IP address is not on the internet. An IPv4 address in IPv6 notation counts as the IPv4 address. */
export function isPrivateAddress(address: string): boolean {
  return holds(PRIVATE, address);
}

/** Whether a host (see `hostOf`) is this machine. */
export function isThisMachine(host: string): boolean {
  return LOCALHOST.test(host) || holds(LOOPBACK, host);
}

/**
 * The rule for addresses that a server names, by the addresses where the server itself was reached so far; undefined stands
 * for a connection through a proxy, which does not say where it leads. A name is not asked again: its owner can return other
 * addresses each time, and several at once. One connection that is not known to stay in a private network is enough to make
 * it a server on the internet.
 */
export function ruleForAddressesFrom(url: URL, reached: ReadonlySet<string | undefined>): AddressRule {
  const host = hostOf(url);
  const known = isIP(host) === 0 ? [...reached] : [host];
  if (known.length === 0 || known.some((address) => address === undefined || !isPrivateAddress(address))) {
    return publicAddress;
  }
  return known.every((address) => holds(LOOPBACK, address ?? '')) ? localAddress : neighborAddress;
}

/** The host of `url`: an address without brackets, or a name without the dot that may end it. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

/** Finds the addresses of a name, as `dns.lookup` does. */
export type Resolve = typeof dns.lookup;

/**
 * A DNS lookup for sockets that applies the rule. The socket connects to the address that was checked, so a name that changes
 * its address in between (DNS rebinding) gains nothing.
 */
export function guardedLookup(rule: AddressRule, resolve: Resolve = dns.lookup): LookupFunction {
  return (hostname, options, callback) => {
    const local = LOCALHOST.test(hostname.replace(/\.+$/, '')) ? rule('127.0.0.1') : undefined;
    if (local !== undefined) {
      callback(new AddressRefusedError(hostname, local), [], 0);
      return;
    }
    resolve(hostname, { ...options, all: true }, (error, found) => {
      const refused = found?.find(({ address }) => rule(address) !== undefined);
      const [first] = found ?? [];
      if (error !== null || first === undefined) {
        callback(error ?? new Error(`${hostname} has no address`), [], 0);
      } else if (refused !== undefined) {
        callback(new AddressRefusedError(hostname, rule(refused.address) ?? ''), [], 0);
      } else if (options.all === true) {
        callback(null, found, 0);
      } else {
        callback(null, first.address, first.family);
      }
    });
  };
}

/**
 * Applies the rule to a host that a proxy or a browser will resolve, as far as this machine can resolve it. A name that only
 * they can resolve passes unless it is internal; where it leads is up to them.
 */
export async function checkHost(host: string, rule: AddressRule, resolve: Resolve = dns.lookup): Promise<void> {
  if (rule === anyAddress) {
    return;
  }
  const found = isIP(host) !== 0 ? [host] : LOCALHOST.test(host) ? ['127.0.0.1'] : await addressesOf(host, resolve);
  const refused = found.map(rule).find((reason) => reason !== undefined);
  if (refused !== undefined) {
    throw new AddressRefusedError(host, refused);
  }
  if (found.length === 0 && INTERNAL_NAME.test(host)) {
    throw new AddressRefusedError(host, 'it is a name in a private network');
  }
}

/** Empty if the name cannot be resolved. */
function addressesOf(host: string, resolve: Resolve): Promise<string[]> {
  return new Promise((done) => {
    resolve(host, { all: true }, (error, found) => done(error === null ? found.map(({ address }) => address) : []));
  });
}

/** A rule refused a host. */
export class AddressRefusedError extends Error {
  readonly reason: string;

  constructor(host: string, reason: string) {
    super(`refused to connect to ${host}: ${reason}`);
    this.reason = reason;
  }
}

/** The networks of IPv6 that stand for one of IPv4: IPv4-compatible (RFC 4291), NAT64 (RFC 6052) and 6to4 (RFC 3056). */
function inIpv6([address, prefix]: Subnet): Subnet[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const digits = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  return [
    [`::${digits}`, 96 + prefix],
    [`64:ff9b::${digits}`, 96 + prefix],
    [`2002:${digits}::`, 16 + prefix],
  ];
}

function blockList(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of subnets) {
    list.addSubnet(net, prefix, isIP(net) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function holds(list: BlockList, address: string): boolean {
  const plain = address.replace(/%.*$/, '');
  return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 6 ? 'ipv6' : 'ipv4');
}
