/** Masks the secrets of all configured servers at once, in texts that belong to none of them. */
import type { ServerDefinition } from '../config/discover.ts';
import { createResultMask } from '../upstream/result-mask.ts';
import { secretsOf } from '../upstream/secrets.ts';

type Definitions = ReadonlyMap<string, ServerDefinition>;

/** A function that replaces what is secret in the definitions of the time, which are asked for at each use. */
export function createSecretMask(definitions: () => Definitions): (text: string) => string {
  let known: Definitions = new Map();
  let mask = createResultMask([]);
  return (text) => {
    const current = definitions();
    if (current !== known) {
      known = current;
      mask = createResultMask([...current.values()].flatMap(secretsOf));
    }
    return mask.maskMessage({ params: text })['params'] as string;
  };
}
