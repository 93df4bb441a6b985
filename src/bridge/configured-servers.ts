/** The configured servers with everything around them: the files, the connections, and what is known of each. */

import type { ConfigIssue } from '../base/config-issue.ts';
import type { Logger } from '../base/log.ts';
import { assignServerAliases } from '../catalog/names.ts';
import { createMetadataCache } from '../directory/metadata-cache.ts';
import { type CallableServer, createServerDirectory, type ServerDirectory } from '../directory/server-directory.ts';
import { createServerFailures, type ServerFailures } from '../directory/server-failures.ts';
import { createMetadataSource } from '../directory/server-metadata.ts';
import { allVisible, createVisibleTools } from '../directory/visible-tools.ts';
import { createToolPins, type ToolPins } from '../pins/pinned-tools.ts';
import { createToolPinStore } from '../pins/tool-pins.ts';
import { type CurrentPolicies, createCurrentPolicies } from '../policy/current-policies.ts';
import type { ServerReference } from '../protocol/frames.ts';
import { createKnownSecrets, type KnownSecrets } from '../secrets/known-secrets.ts';
import {
  createServerDiscovery,
  type DiscoveredServers,
  type DiscoveryOptions,
  type ServerDefinition,
} from '../servers/discover.ts';
import { loadSources, thisSystem } from '../servers/sources.ts';
import type { Settings } from '../settings/settings.ts';
import { findingOfIssue, renderLine } from '../terminal/finding.ts';
import { likelySecrets } from '../upstream/mask.ts';
import { createLoginStore } from '../upstream/oauth/login-store.ts';
import {
  createUpstreamPool,
  type LoginRecord,
  type LoginStore,
  type UpstreamPool,
  type UpstreamPoolOptions,
} from '../upstream/pool.ts';

export interface ConfiguredServers extends KnownSecrets {
  readonly pool: UpstreamPool;
  /** Every definition as of the last `refresh`, the disabled ones included. */
  definitions(): ReadonlyMap<string, ServerDefinition>;
  /** What was wrong with their files then. */
  issues(): readonly ConfigIssue[];
  /** The same, as far as calls are concerned. */
  callable(): ReadonlyMap<string, CallableServer>;
  /** What is known of the servers of the last `refresh`. */
  readonly known: ServerDirectory;
  /** Logins at remote servers. */
  readonly logins: LoginStore;
  /** Why they could not be asked, of this run and of others. */
  readonly failures: ServerFailures;
  /** What was accepted of their tools. */
  readonly pins: ToolPins;
  /** What code may do, of `policy.json` now and of the entries as of the last `refresh`. */
  readonly policies: CurrentPolicies;
  /**
   * Looks at the files again; a change is passed on to the pool and its issues are logged, once. Gives the servers that
   * are not disabled, with the aliases of their proxies.
   */
  refresh(): readonly ServerReference[];
}

/** With how far the start of a server is told, and how a failed one is logged. */
export interface ConfiguredServersOptions extends Pick<UpstreamPoolOptions, 'failureLevel' | 'onStep'> {
  /** Whether tools of which no call can be made are hidden, as code is to see it; no when left out. */
  readonly hidesDenied?: boolean;
  /** Whether a server is one that the command is about: what is wrong with others is not worth a warning. All when left out. */
  readonly concerns?: (server: string) => boolean;
}

/** Starts nothing and reads no file of servers before the first `refresh`. */
export async function createConfiguredServers(
  settings: Settings,
  logger: Logger,
  { hidesDenied = false, concerns = () => true, ...starts }: ConfiguredServersOptions = {},
): Promise<ConfiguredServers> {
  const { stateDir } = settings;
  const discover = createServerDiscovery(await discoveryOptionsOf(settings));
  const secrets = createKnownSecrets(() => current.servers);
  const logins = loginsOf(settings, logger);
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
    pins,
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
        references = toReferences(found);
        found.issues.forEach((issue) => logIssue(issue, logger, concerns));
      }
      return references;
    },
  };
}

function logIssue(issue: ConfigIssue, logger: Logger, concerns: (server: string) => boolean): void {
  const level = issue.server === undefined || concerns(issue.server) ? issue.level : 'debug';
  logger[level](renderLine(findingOfIssue(issue)));
}

/** Logins at remote servers. */
export function loginsOf({ stateDir }: Settings, logger: Logger): LoginStore {
  return createLoginStore<LoginRecord>(stateDir, logger);
}

/** Where the settings say that servers are looked for. */
export async function discoveryOptionsOf(settings: Settings): Promise<DiscoveryOptions> {
  return {
    stateDir: settings.stateDir,
    extraFile: settings.serversConfig,
    sources: await loadSources(settings.configSources, thisSystem(process.env)),
    env: process.env,
    allowsSelf: settings.allowSelfServer,
  };
}

function toCallable(definition: ServerDefinition): CallableServer {
  return { ...definition, secrets: likelySecrets(definition) };
}

function toReferences({ servers }: DiscoveredServers): ServerReference[] {
  const enabled = [...servers.values()].filter(({ disabled }) => !disabled);
  const aliases = assignServerAliases(enabled.map(({ name }) => name));
  return enabled.map(({ name, description }, index) => {
    const alias = aliases[index] ?? name;
    return description === undefined ? { name, alias } : { name, alias, description };
  });
}
