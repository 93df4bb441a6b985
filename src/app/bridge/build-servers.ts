/** Builds the configured servers from the core and the features: files, connections, secrets, pins, policies, and the gates of their calls. */

import { join } from 'node:path';
import type { ConfigIssue } from '../../core/base/config-issue.ts';
import type { Logger } from '../../core/base/log.ts';
import type { ServerOwner } from '../../core/base/server-definition.ts';
import type { Approvals } from '../../core/calls/contract.ts';
import { type CallPipeline, type CallPipelineOptions, createCallPipeline } from '../../core/calls/pipeline.ts';
import { assignServerAliases } from '../../core/catalog/names.ts';
import { createMetadataCache, type MetadataCache, personalCache } from '../../core/directory/metadata-cache.ts';
import {
  type CallableServer,
  createServerDirectory,
  type ServerDirectory,
} from '../../core/directory/server-directory.ts';
import { createServerFailures, type ServerFailures } from '../../core/directory/server-failures.ts';
import { createMetadataSource } from '../../core/directory/server-metadata.ts';
import { allVisible } from '../../core/directory/visible-tools.ts';
import type { ServerReference } from '../../core/protocol/frames.ts';
import { principalFolder } from '../../core/state/principals.ts';
import type { ConfiguredServers, ConfiguredServersOptions } from '../../edges/configured/configured-servers.ts';
import { createServerDiscovery, type DiscoveredServers, type ServerDefinition } from '../../edges/servers/discover.ts';
import { ownServers } from '../../edges/servers/owned-servers.ts';
import { discoveryOptionsOf } from '../../edges/settings/discovery-options.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { UnattendedCalls } from '../../edges/terminal/command.ts';
import { findingOfIssue, renderLine } from '../../edges/terminal/finding.ts';
import { DESCRIPTIONS } from '../../edges/upstream/api/folder.ts';
import { createLoginStore } from '../../edges/upstream/oauth/login-store.ts';
import { createUpstreamPool, type UpstreamPool } from '../../edges/upstream/pool.ts';
import { likelySecrets } from '../../edges/upstream/secrets.ts';
import { type DryRun, markDryRun } from '../../features/dry-run/index.ts';
import { createPinGate, createToolPinStore, createToolPins } from '../../features/pins/index.ts';
import {
  type CurrentPolicies,
  type CurrentProfile,
  createCurrentPolicies,
  createCurrentProfile,
  createPolicyGate,
  createProfileGate,
  createVisibleTools,
  inProfile,
} from '../../features/policy/index.ts';
import { createKnownSecrets, SecretFile } from '../../features/secrets/index.ts';
import { type AuditTrail, createRequiredGate } from '../../record/audit/index.ts';
import type { RunAnswers } from '../../record/recordings/index.ts';
import { awayFromToken } from './beside-token.ts';
import { openEgressAuthority } from './egress-authority.ts';

/** The configured servers with what only the bridge needs. */
export interface BridgeServers extends ConfiguredServers {
  /** What code may do, according to `policy.json` and the entries as of the last `refresh`. */
  readonly policies: CurrentPolicies;
  /** What exists for code; undefined for everything. */
  readonly profile: CurrentProfile | undefined;
}

/** Starts nothing and reads no server file before the first `refresh`. */
export async function createConfiguredServers(
  settings: Settings,
  logger: Logger,
  { hidesDenied = false, concerns = () => true, owner, only, inviteLogin, ...watch }: ConfiguredServersOptions = {},
): Promise<BridgeServers> {
  const profile = createCurrentProfile(settings, only);
  const discover = discoverIn(profile, await discoveryFor(settings, owner));
  const secrets = createKnownSecrets(settings.stateDir, () => current.servers);
  const kept = keptBetweenRuns(settings, logger);
  const pool: UpstreamPool = createUpstreamPool({
    logger,
    masksSecrets: settings.masksSecrets,
    ...kept,
    inviteLogin: inviteLogin && ((definition, scope) => inviteLogin(definition, kept.logins, scope)),
    prepare: awayFromToken(settings, secrets.prepare),
    ...watch,
    onToolsChanged: (server) => known.noteChange(server),
  });
  const ownerOf: OwnerOf = (server) => current.servers.get(server)?.owner;
  const pins = createPins(settings, pool, { ...watch, failures: kept.failures, logger, ownerOf });
  let current: DiscoveredServers = { servers: new Map(), issues: [] };
  let callable: ReadonlyMap<string, CallableServer> = new Map();
  let references: readonly ServerReference[] = [];
  const policies = createCurrentPolicies({ ...settings, ...watch, definitions: () => current.servers, logger });
  const visible = hidesDenied ? createVisibleTools(policies) : allVisible;
  const listed = inProfile(pins, profile, () => references);
  const known: ServerDirectory = createServerDirectory(listed, () => callable, logger, visible);

  return {
    ...secrets,
    ...kept,
    pool,
    known,
    review: pins,
    policies,
    profile,
    definitions: () => current.servers,
    issues: () => current.issues,
    callable: () => callable,
    refresh() {
      const found = discover();
      if (found !== current) {
        current = found;
        pool.update(found.servers);
        [callable, references] = readCallable(found.servers);
        found.issues.forEach((issue) => logIssue(issue, logger, concerns));
      }
      return references;
    },
  };
}

function keptBetweenRuns({ stateDir }: Settings, logger: Logger) {
  return {
    logins: createLoginStore(stateDir, logger),
    failures: createServerFailures({ stateDir, logger }),
    descriptionsDir: join(stateDir, ...DESCRIPTIONS),
    egressSeed: async () => (await openEgressAuthority(stateDir)).seed,
  };
}

function readCallable(
  servers: DiscoveredServers['servers'],
): [ReadonlyMap<string, CallableServer>, readonly ServerReference[]] {
  const callable = new Map([...servers].map(([name, definition]) => [name, toCallable(definition)]));
  return [callable, toReferences(callable)];
}

type OwnerOf = (server: string) => ServerOwner | undefined;

/** @param owner the name of a principal. */
async function discoveryFor(settings: Settings, owner: string | undefined): Promise<() => DiscoveredServers> {
  const { stateDir } = settings;
  return ownServers(createServerDiscovery(await discoveryOptionsOf(settings)), {
    owner: owner === undefined ? undefined : { name: owner, folder: principalFolder(stateDir, owner) },
    secretsVersion: (whose) => new SecretFile(whose?.folder ?? stateDir).version(),
  });
}

interface PinParts {
  readonly failures: ServerFailures;
  readonly folder?: string | undefined;
  readonly logger: Logger;
  readonly onCacheLookup?: ConfiguredServersOptions['onCacheLookup'];
  readonly ownerOf: OwnerOf;
}

function createPins(
  { pin, stateDir }: Settings,
  pool: UpstreamPool,
  { failures, folder, logger, onCacheLookup, ownerOf }: PinParts,
): ReturnType<typeof createToolPins> {
  const shared = createMetadataCache({ stateDir, logger });
  const cache =
    folder === undefined ? shared : personalCache(shared, createMetadataCache({ stateDir: folder, logger }));
  const source = createMetadataSource(pool, watched(cache, onCacheLookup), failures);
  const store = createToolPinStore((server) => ownerOf(server)?.folder ?? stateDir);
  return createToolPins({ source, store, mode: () => pin, ownerOf: (server) => ownerOf(server)?.name, logger });
}

function watched(cache: MetadataCache, onLookup: ConfiguredServersOptions['onCacheLookup']): MetadataCache {
  return onLookup === undefined
    ? cache
    : {
        ...cache,
        async load(definitionHash) {
          const kept = await cache.load(definitionHash);
          onLookup(kept !== undefined);
          return kept;
        },
      };
}

export interface GateParts extends Pick<CallPipelineOptions, 'events' | 'traceCall'> {
  /** Answers calls that a policy makes a dry run. */
  readonly dryRun: DryRun;
  /** Whether every call is a dry run. */
  readonly isDryRun?: boolean | undefined;
  readonly trail?: AuditTrail | undefined;
  /** Answers calls that an interrupted run has made. */
  readonly resume?: RunAnswers | undefined;
  /** For a run without a person. */
  readonly unattended?: UnattendedCalls | undefined;
}

/** The gates around each call, whoever makes it: the profile, the pins, the policies with the person's answer, the pins again. */
export function createGatedCalls(
  { definitions, known, policies, profile }: Pick<BridgeServers, 'definitions' | 'known' | 'policies' | 'profile'>,
  approvals: Approvals,
  { dryRun, isDryRun, resume, trail, unattended, ...watching }: GateParts,
): CallPipeline {
  const pins = createPinGate(known, (server) => definitions().get(server)?.owner?.name);
  const gates = [
    profile && createProfileGate(profile),
    isDryRun === true ? markDryRun : undefined,
    pins,
    createPolicyGate(policies, unattended?.approvals ?? approvals),
    pins,
    unattended?.rights,
    resume?.gate,
    unattended?.sent,
    dryRun.gate,
    trail?.isRequired === true ? createRequiredGate(trail) : undefined,
  ].filter((gate) => gate !== undefined);
  return createCallPipeline({ gates, ...watching });
}

/** Leaves out what is not in the profile. The same object until something changes. */
function discoverIn(profile: CurrentProfile | undefined, discover: () => DiscoveredServers): () => DiscoveredServers {
  if (profile === undefined) {
    return discover;
  }
  let last:
    | { readonly all: DiscoveredServers; readonly of: ReturnType<CurrentProfile>; readonly found: DiscoveredServers }
    | undefined;
  return () => {
    const [all, of] = [discover(), profile()];
    if (last?.all !== all || last.of !== of) {
      const has = (name: string | undefined): boolean => name === undefined || of?.hasServer(name) === true;
      const servers = new Map([...all.servers].filter(([name]) => has(name)));
      last = { all, of, found: { ...all, servers, issues: all.issues.filter(({ server }) => has(server)) } };
    }
    return last.found;
  };
}

function logIssue(issue: ConfigIssue, logger: Logger, concerns: (server: string) => boolean): void {
  const level = issue.server === undefined || concerns(issue.server) ? issue.level : 'debug';
  logger[level](renderLine(findingOfIssue(issue)));
}

function toCallable(definition: ServerDefinition): CallableServer {
  return { ...definition, secrets: likelySecrets(definition) };
}

/** The servers that are not disabled, with the aliases of their proxies. */
export function toReferences(servers: ReadonlyMap<string, CallableServer>): ServerReference[] {
  const enabled = [...servers.values()].filter(({ disabled }) => disabled !== true);
  const aliases = assignServerAliases(enabled.map(({ name }) => name));
  return enabled.map(({ name, description }, index) => {
    const alias = aliases[index] ?? name;
    return description === undefined ? { name, alias } : { name, alias, description };
  });
}
