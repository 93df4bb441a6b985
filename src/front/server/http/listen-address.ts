/** The address of `serve --http`. */
import { isIP } from 'node:net';
import { BridgeError } from '../../../core/base/errors.ts';

export interface ListenAddress {
  /** An IP address, or `localhost`. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
}

/** Only this machine can connect. 7411 is not registered for anything. */
export const DEFAULT_ADDRESS: ListenAddress = { host: '127.0.0.1', port: 7411 };

const MAX_PORT = 65_535;

/** Reads `ADDRESS:PORT`, `[IPv6]:PORT`, `PORT` or `ADDRESS`. Throws `USAGE_INVALID`. */
export function parseListenAddress(text: string): ListenAddress {
  const [, inBrackets, bare, digits] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isPort = bare !== undefined && /^\d{1,5}$/.test(bare) && digits === undefined;
  const host = inBrackets ?? (isPort || bare === '' ? DEFAULT_ADDRESS.host : bare);
  const port = Number(isPort ? bare : (digits ?? DEFAULT_ADDRESS.port));
  const isAddress = host === 'localhost' || isIP(host ?? '') !== 0;
  if (host === undefined || !isAddress || port > MAX_PORT || (inBrackets !== undefined && isIP(inBrackets) !== 6)) {
    throw new BridgeError('USAGE_INVALID', `--http is '${text}'; it must be an IP address with a port`, {
      hint: 'Write it as 127.0.0.1:7411, [::1]:7411 or 7411.',
    });
  }
  return { host, port };
}

/** Whether only this machine can connect. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** As in a URL. */
export function hostInUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
