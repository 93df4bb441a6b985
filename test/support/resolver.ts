/** A resolver that knows only the given names, so that nothing is asked outside of the test. */
import { isIP } from 'node:net';
import type { Resolve } from '../../src/edges/upstream/http/addresses.ts';

type Done = (error: Error | null, found: readonly object[]) => void;

/** The addresses of each name, in this order. Other names do not exist. */
export function resolverOf(names: Readonly<Record<string, readonly string[]>>): Resolve {
  const resolve = (name: string, _options: object, done: Done): void => {
    const found = (names[name] ?? []).map((address) => ({ address, family: isIP(address) }));
    done(found.length === 0 ? new Error(`getaddrinfo ENOTFOUND ${name}`) : null, found);
  };
  return resolve as unknown as Resolve;
}
