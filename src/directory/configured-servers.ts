/** The configured servers with everything around them: their files, the connections, and what is known of each. */
import type { ConfigIssue } from '../base/config-issue.ts';
import type { ServerReference } from '../protocol/frames.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import type { LoginStore, UpstreamPool, UpstreamPoolOptions } from '../upstream/pool.ts';
import type { CallableServer, ServerDirectory } from './server-directory.ts';
import type { ServerFailures } from './server-failures.ts';
import type { DefinitionReview } from './server-metadata.ts';

export interface ConfiguredServers {
  readonly pool: UpstreamPool;
  /** Every definition as of the last `refresh`, the disabled ones included. */
  definitions(): ReadonlyMap<string, ServerDefinition>;
  /** What was wrong with their files then. */
  issues(): readonly ConfigIssue[];
  /** The same definitions, as far as calls are concerned. */
  callable(): ReadonlyMap<string, CallableServer>;
  /** What is known of the servers of the last `refresh`. */
  readonly known: ServerDirectory;
  /** Logins at remote servers. */
  readonly logins: LoginStore;
  /** Why servers could not be asked, in this run and in earlier ones. */
  readonly failures: ServerFailures;
  /** How tools differ from what a person accepted. */
  readonly review: DefinitionReview;
  /** Puts the values of files and commands into a definition, as the pool does when it starts the server. */
  prepare<Entry extends ServerDefinition>(entry: Entry): Promise<Entry>;
  /** Every secret in the definitions; the same array as long as nothing changed. */
  secrets(): readonly string[];
  /**
   * Looks at the files again; a change is passed on to the pool and its issues are logged, once. Returns the servers that
   * are not disabled, with the aliases of their proxies.
   */
  refresh(): readonly ServerReference[];
}

/** How the start of a server is reported, and how a failed one is logged. */
export interface ConfiguredServersOptions extends Pick<UpstreamPoolOptions, 'failureLevel' | 'onStep'> {
  /** Whether tools that code may not call are hidden; no if left out. */
  readonly hidesDenied?: boolean;
  /** Whether the command is about a server: problems of others are not worth a warning. All if left out. */
  readonly concerns?: (server: string) => boolean;
  /** Nothing is logged; no if left out. */
  readonly isSilent?: boolean;
}

/** Starts nothing and reads no server file before the first `refresh`. */
export type OpenServers = (options?: ConfiguredServersOptions) => Promise<ConfiguredServers>;
