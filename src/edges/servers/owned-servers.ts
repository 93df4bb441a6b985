/**
 * The servers as one principal has them: those that are "per user" get an owner, and with it logins, secrets and a connection of
 * their own. What is known about such a server is kept by its hash, which differs for each owner, so no one finds what another's
 * server has said.
 */
import { createHash } from 'node:crypto';
import type { ServerOwner } from '../../core/base/server-definition.ts';
import type { DiscoveredServers, ServerDefinition } from './discover.ts';
import { referenceKinds } from './expand.ts';

interface OwnedOptions {
  /** Undefined for the operator, to whom the others belong as well. */
  readonly owner: ServerOwner | undefined;
  /** Changes whenever the stored secrets of the owner do, or those that all share. */
  readonly secretsVersion: (owner: ServerOwner | undefined) => string;
}

/** Wraps a discovery. The result is the same object until something changes. */
export function ownServers(
  discover: () => DiscoveredServers,
  { owner, secretsVersion }: OwnedOptions,
): () => DiscoveredServers {
  let last:
    | { readonly of: DiscoveredServers; readonly versions: string; readonly found: DiscoveredServers }
    | undefined;
  let withSecrets: ReadonlySet<ServerOwner | undefined> = new Set();
  return () => {
    const of = discover();
    if (last?.of !== of) {
      const definitions = [...of.servers.values()].filter((one) => referenceKinds(one).has('secret'));
      withSecrets = new Set(definitions.map(({ isPerUser }) => (isPerUser ? owner : undefined)));
    }
    const versions = JSON.stringify([...withSecrets].map((whose) => secretsVersion(whose)));
    if (last?.of !== of || last.versions !== versions) {
      const servers = new Map(
        [...of.servers].map(([name, one]) => [name, withVersion(withOwner(one, owner), secretsVersion)]),
      );
      last = { of, versions, found: { ...of, servers } };
    }
    return last.found;
  };
}

function withOwner(definition: ServerDefinition, owner: ServerOwner | undefined): ServerDefinition {
  if (owner === undefined || !definition.isPerUser) {
    return definition;
  }
  const definitionHash = createHash('sha256').update(`${definition.definitionHash}\0${owner.name}`).digest('hex');
  return { ...definition, owner, definitionHash };
}

function withVersion(definition: ServerDefinition, secretsVersion: OwnedOptions['secretsVersion']): ServerDefinition {
  return referenceKinds(definition).has('secret')
    ? { ...definition, secretsVersion: secretsVersion(definition.owner) }
    : definition;
}
