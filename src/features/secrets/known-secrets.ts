/** The secrets of all server entries, as far as this process knows them, and a mask that hides them. */

import { homeFolder } from '../../core/base/home.ts';
import type { ServerDefinition } from '../../edges/servers/discover.ts';
import { createChangingMask } from '../../edges/upstream/result-mask.ts';
import { type SecretHolder, secretsOf } from '../../edges/upstream/secrets.ts';
import { createSecretValues, type ResolveReferences } from './secret-values.ts';

export interface KnownSecrets {
  /** Resolves the references in a definition, as the pool does when it starts the server. */
  readonly prepare: ResolveReferences;
  /** The secrets in the current definitions, and the values last resolved; the same array until something changes. */
  secrets(): readonly string[];
}

type Definitions = ReadonlyMap<string, ServerDefinition>;

/** @param definitions by name; the same map until they change. */
export function createKnownSecrets(stateDir: string, definitions: () => Definitions): KnownSecrets {
  const resolveReferences = createSecretValues({ home: homeFolder(process.env), env: process.env, stateDir });
  const resolved = new Map<string, SecretHolder>();
  let known: { readonly of: Definitions; readonly secrets: readonly string[] } | undefined;

  return {
    async prepare(entry) {
      const prepared = await resolveReferences(entry);
      if (prepared !== entry) {
        resolved.set(entry.name, prepared);
        known = undefined;
      }
      return prepared;
    },
    secrets() {
      const current = definitions();
      if (known?.of !== current) {
        const secrets = [...current.values(), ...resolved.values()].flatMap(secretsOf);
        known = { of: current, secrets: [...new Set(secrets)] };
      }
      return known.secrets;
    },
  };
}

/** Replaces the secrets in a string, or in every string of another JSON value. */
export type MaskSecrets = <Value>(value: Value) => Value;

/**
 * A mask for text that belongs to no single server: it hides the secrets of all of them.
 *
 * @param secrets called at each use; returns the same array until the secrets change.
 */
export function createSecretMask(secrets: () => readonly string[]): MaskSecrets {
  const mask = createChangingMask(secrets);
  return <Value>(value: Value) => mask.maskValue(value) as Value;
}
