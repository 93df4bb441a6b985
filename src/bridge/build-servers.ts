/** Builds the configured servers from the core and the features: files, connections, secrets, pins, policies, and the gates of their calls. */
import { type AuditTrail, createAuditGate, createUnmadeNote } from '../audit/index.ts';
import type { ConfigIssue } from '../base/config-issue.ts';
import type { Logger } from '../base/log.ts';
import type { Approvals } from '../calls/contract.ts';
import { type CallPipeline, createCallPipeline } from '../calls/tool-calls.ts';
import { assignServerAliases } from '../catalog/names.ts';
import type { ConfiguredServers, ConfiguredServersOptions } from '../directory/configured-servers.ts';
import { createMetadataCache } from '../directory/metadata-cache.ts';
import { type CallableServer, createServerDirectory, type ServerDirectory } from '../directory/server-directory.ts';
import { createServerFailures } from '../directory/server-failures.ts';
import { createMetadataSource } from '../directory/server-metadata.ts';
import { allVisible } from '../directory/visible-tools.ts';
import { type DryRun, markDryRun } from '../dry-run/index.ts';
import { createPinGate, createToolPinStore, createToolPins } from '../pins/index.ts';
import { type CurrentPolicies, createCurrentPolicies, createPolicyGate, createVisibleTools } from '../policy/index.ts';
import type { ServerReference } from '../protocol/frames.ts';
import type { Recording, RunAnswers } from '../recordings/index.ts';
import { createKnownSecrets } from '../secrets/index.ts';
import { createServerDiscovery, type DiscoveredServers, type ServerDefinition } from '../servers/discover.ts';
import { discoveryOptionsOf } from '../settings/discovery-options.ts';
import type { Settings } from '../settings/settings.ts';
import { findingOfIssue, renderLine } from '../terminal/finding.ts';
import { createLoginStore } from '../upstream/oauth/login-store.ts';
import { createUpstreamPool, type UpstreamPool } from '../upstream/pool.ts';
import { likelySecrets } from '../upstream/secrets.ts';

/** The configured servers with what only the bridge needs. */
export interface BridgeServers extends ConfiguredServers {
  /** What code may do, according to `policy.json` and the entries as of the last `refresh`. */
  readonly policies: CurrentPolicies;
}

/** Starts nothing and reads no server file before the first `refresh`. */
export async function createConfiguredServers(
  settings: Settings,
  logger: Logger,
  { hidesDenied = false, concerns = () => true, ...starts }: ConfiguredServersOptions = {},
): Promise<BridgeServers> {
  const { stateDir } = settings;
  const discover = createServerDiscovery(await discoveryOptionsOf(settings));
  const secrets = createKnownSecrets(() => current.servers);
  const logins = createLoginStore(stateDir, logger);
  const failures = createServerFailures({ stateDir, logger });
  const pool: UpstreamPool = createUpstreamPool({
    logger,
    masksSecrets: settings.masksSecrets,
    logins,
    prepare: secrets.prepare,
    ...starts,
    onToolsChanged: (server) => known.noteChange(server),
  });
  const source = createMetadataSource(pool, createMetadataCache({ stateDir, logger }), failures);
  const pins = createToolPins({ source, store: createToolPinStore(stateDir), mode: () => settings.pin, logger });
  let current: DiscoveredServers = { servers: new Map(), issues: [] };
  let callable: ReadonlyMap<string, CallableServer> = new Map();
  let references: readonly ServerReference[] = [];
  const policies = createCurrentPolicies({ stateDir, definitions: () => current.servers, logger });
  const visible = hidesDenied ? createVisibleTools(policies) : allVisible;
  const known: ServerDirectory = createServerDirectory(pins, () => callable, logger, visible);

  return {
    ...secrets,
    pool,
    known,
    logins,
    failures,
    review: pins,
    policies,
    definitions: () => current.servers,
    issues: () => current.issues,
    callable: () => callable,
    refresh() {
      const found = discover();
      if (found !== current) {
        current = found;
        pool.update(found.servers);
        callable = new Map([...found.servers].map(([name, definition]) => [name, toCallable(definition)]));
        references = toReferences(callable);
        found.issues.forEach((issue) => logIssue(issue, logger, concerns));
      }
      return references;
    },
  };
}

export interface GateParts {
  /** Answers calls that a policy makes a dry run. */
  readonly dryRun: DryRun;
  /** Whether every call is a dry run. */
  readonly isDryRun?: boolean | undefined;
  readonly trail?: AuditTrail | undefined;
  readonly recording?: Recording | undefined;
  /** Answers calls that an interrupted run has made. */
  readonly resume?: RunAnswers | undefined;
}

/** The gates around each call, whoever makes it: the records, the pins, the policies with the person's answer, the pins again. */
export function createGatedCalls(
  { known, policies }: Pick<BridgeServers, 'known' | 'policies'>,
  approvals: Approvals,
  { dryRun, isDryRun, trail, recording, resume }: GateParts,
): CallPipeline {
  const pins = createPinGate(known);
  const gates = [
    trail && createAuditGate(trail),
    recording?.gate,
    isDryRun === true ? markDryRun : undefined,
    pins,
    createPolicyGate(policies, approvals),
    pins,
    resume?.gate,
    dryRun.gate,
  ].filter((gate) => gate !== undefined);
  return createCallPipeline({ gates, noteUnmade: trail && createUnmadeNote(trail) });
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
