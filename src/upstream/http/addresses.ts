/**
 * Which addresses a server may send the bridge to. An address in an entry is the user's choice and may be anywhere. An address
 * from a response (a redirect, the metadata of a login) must not lead from the internet into the user's networks (server-side
 * request forgery; MCP "Security Best Practices").
 */
import { type LookupAddress, lookup, promises } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Never needed for a login, and where clouds serve the credentials of a machine. */
const LINK_LOCAL = blockList([
  ['169.254.0.0', 16],
  ['fe80::', 10],
  ['fd00:ec2::254', 128],
  ['100.100.100.200', 32],
]);
/** Loopback, private and other networks that are not on the internet (IANA special-purpose registries). */
const PRIVATE = blockList([
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
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
]);

/** This machine, including `0.0.0.0` and `::`, which connect to it too. */
const LOOPBACK = blockList([
  ['127.0.0.0', 8],
  ['0.0.0.0', 32],
  ['::', 127],
]);
/** Names that do not exist on the internet: those without a dot, and reserved ones (RFC 6761, RFC 6762, ICANN 2024). */
const INTERNAL_NAME = /^[^.]+$|\.(?:localhost|local|internal|home\.arpa|lan|corp|intranet)$/i;

/** Returns the reason why an address must not be connected to, or undefined if it may be. */
export type AddressRule = (address: string) => string | undefined;

/** For addresses that the user configured. */
export const anyAddress: AddressRule = () => undefined;

/** For addresses from a server on the internet. */
export const publicAddress: AddressRule = (address) =>
  isPrivateAddress(address) ? 'it is an address in a private network' : undefined;

/** For addresses from a server in a private network, which can reach that network anyway. */
export const neighborAddress: AddressRule = (address) =>
  holds(LINK_LOCAL, address) ? 'it is a link-local address' : undefined;

/** Whether an IP address is not on the internet. An IPv4 address in IPv6 notation counts as the IPv4 address. */
export function isPrivateAddress(address: string): boolean {
  return holds(PRIVATE, address);
}

/** Whether a host (a name, or an address without brackets) is this machine. */
export function isThisMachine(host: string): boolean {
  return /(?:^|\.)localhost\.?$/i.test(host) || holds(LOOPBACK, host);
}

/** The rule for addresses from the server at `url`. Resolves its host name. */
export async function ruleForAddressesFrom(url: URL): Promise<AddressRule> {
  const host = hostOf(url);
  if (isIP(host) !== 0) {
    return isPrivateAddress(host) ? neighborAddress : publicAddress;
  }
  const found: LookupAddress[] = await promises.lookup(host, { all: true }).catch(() => []);
  return found.some(({ address }) => isPrivateAddress(address)) ? neighborAddress : publicAddress;
}

/** The host of `url`: a name, or an address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * A DNS lookup for sockets that applies the rule. The socket connects to the address that was checked, so a name that changes
 * its address in between (DNS rebinding) gains nothing.
 */
export function guardedLookup(rule: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
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
 * Applies the rule to a host that a proxy will resolve, as far as this machine can resolve it. A name that only the proxy can
 * resolve passes unless it is internal; where it leads is up to the proxy.
 */
export async function checkBehindProxy(host: string, rule: AddressRule): Promise<void> {
  if (rule === anyAddress || isIP(host) !== 0) {
    return;
  }
  const found: LookupAddress[] = await promises.lookup(host, { all: true }).catch(() => []);
  const refused = found.map(({ address }) => rule(address)).find((reason) => reason !== undefined);
  if (refused !== undefined) {
    throw new AddressRefusedError(host, refused);
  }
  if (found.length === 0 && INTERNAL_NAME.test(host.replace(/\.$/, ''))) {
    throw new AddressRefusedError(host, 'it is a name in a private network');
  }
}

/** A rule refused a host. */
export class AddressRefusedError extends Error {
  constructor(host: string, reason: string) {
    super(`refused to connect to ${host}: ${reason}`);
  }
}

function blockList(subnets: readonly (readonly [string, number])[]): BlockList {
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
