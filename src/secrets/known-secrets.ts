/** What is secret in the entries of all servers, as far as this process knows it. */

import { homeFolder } from '../base/home.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import { type SecretHolder, secretsOf } from '../upstream/secrets.ts';
import { createSecretValues, type PutInSecrets } from './secret-values.ts';

export interface KnownSecrets {
  /** Puts the values of files and commands into a definition, as the pool does when it starts the server. */
  readonly prepare: PutInSecrets;
  /** What is secret in the definitions of now, and in those that were put in last; the same array as long as nothing changed. */
  secrets(): readonly string[];
}

type Definitions = ReadonlyMap<string, ServerDefinition>;

/** @param definitions by name; the same map as long as they did not change. */
export function createKnownSecrets(definitions: () => Definitions): KnownSecrets {
  const putIn = createSecretValues({ home: homeFolder(process.env), env: process.env });
  const filled = new Map<string, SecretHolder>();
  let known: { readonly of: Definitions; readonly secrets: readonly string[] } | undefined;

  return {
    async prepare(entry) {
      const prepared = await putIn(entry);
      if (prepared !== entry) {
        filled.set(entry.name, prepared);
        known = undefined;
      }
      return prepared;
    },
    secrets() {
      const current = definitions();
      if (known?.of !== current) {
        const secrets = [...current.values(), ...filled.values()].flatMap(secretsOf);
        known = { of: current, secrets: [...new Set(secrets)] };
      }
      return known.secrets;
    },
  };
}
