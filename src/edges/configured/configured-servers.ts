/** The contract of the configured servers: their definitions, their connections, and what is known about each. */
import type { ConfigIssue } from '../../core/base/config-issue.ts';
import type { CallableServer, ServerDirectory } from '../../core/directory/server-directory.ts';
import type { ServerFailures } from '../../core/directory/server-failures.ts';
import type { DefinitionReview } from '../../core/directory/server-metadata.ts';
import type { ServerReference } from '../../core/protocol/frames.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import type { LoginStore, RemoteDefinition, UpstreamPool, UpstreamPoolOptions } from '../upstream/pool.ts';

export interface ConfiguredServers {
  readonly pool: UpstreamPool;
  /** Every definition as of the last `refresh`, including disabled ones. */
  definitions(): ReadonlyMap<string, ServerDefinition>;
  /** Problems in their files at that time. */
  issues(): readonly ConfigIssue[];
  /** The parts of these definitions that calls need. */
  callable(): ReadonlyMap<string, CallableServer>;
  /** What is known about the servers of the last `refresh`. */
  readonly known: ServerDirectory;
  /** Logins to remote servers. */
  readonly logins: LoginStore;
  /** Why servers could not be asked, in this run and in earlier ones. */
  readonly failures: ServerFailures;
  /** How tools differ from what a person accepted. */
  readonly review: DefinitionReview;
  /** Inserts the values from files and commands into a definition, as the pool does when it starts the server. */
  prepare<Entry extends ServerDefinition>(entry: Entry): Promise<Entry>;
  /** Every secret in the definitions; the same array until something changes. */
  secrets(): readonly string[];
  /**
   * Reads the files again. After a change it updates the pool and logs the problems, once. Returns the servers that are not
   * disabled, with the aliases of their proxies.
   */
  refresh(): readonly ServerReference[];
}

/** How the start of a server is reported, and how a failed one is logged. */
export interface ConfiguredServersOptions extends Pick<UpstreamPoolOptions, 'failureLevel' | 'observe' | 'onStep'> {
  /** Called when the kept tools of a server are looked up, with whether there were any. */
  readonly onCacheLookup?: ((isHit: boolean) => void) | undefined;
  /** The address at which the owner of a server can log in. */
  readonly inviteLogin?:
    | ((definition: RemoteDefinition, store: LoginStore, scope: string | undefined) => string)
    | undefined;
  /** Whether tools that code may not call are hidden; no by default. */
  readonly hidesDenied?: boolean;
  /** Whether the command is about this server: problems of other servers are logged at debug level. All by default. */
  readonly concerns?: (server: string) => boolean;
  /** The principal whose servers they are; that of the operator by default. */
  readonly owner?: string | undefined;
  /** The folder of state of that principal. */
  readonly folder?: string | undefined;
  /** Names or patterns of the only servers that exist for it; all by default. */
  readonly only?: readonly string[] | undefined;
  /** Limits count together for all that have the same object; alone by default. */
  readonly countedFor?: object | undefined;
  /** Logs nothing; no by default. */
  readonly isSilent?: boolean;
}

/** Starts nothing and reads no server file before the first `refresh`. */
export type OpenServers = (options?: ConfiguredServersOptions) => Promise<ConfiguredServers>;
