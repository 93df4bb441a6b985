/** The metadata of servers: from the running server, or as it was kept when the server last ran. */
import type { CancelSignal } from '../base/cancel.ts';
import { toBridgeError } from '../base/errors.ts';
import { createPause } from '../base/slices.ts';
import { createIntake, type ListedTool } from '../catalog/intake.ts';
import type { ServerMetadata, ServerWords, ToolChange } from '../catalog/known.ts';
import type { MetadataCache } from './metadata-cache.ts';
import type { ServerFailures } from './server-failures.ts';

/** The raw description of a running server. Only the names of its tools have been checked. */
export interface Listing {
  readonly info: ServerWords;
  readonly tools: readonly ListedTool[];
  readonly notices: readonly string[];
  /** By name of the tool. */
  readonly fingerprints?: ReadonlyMap<string, string>;
  /** Whether anything else had been asked of the server, on the same connection. */
  readonly wasUsed?: boolean;
}

/** Gives the listings of running servers. */
export interface ServerLister {
  /**
   * The current description of a server; the same object until it changes. Starts the server if need be. Rejects with a
   * `BridgeError`.
   */
  describe(server: string, options: { readonly signal: CancelSignal }): Promise<Listing>;
}

/** A server whose metadata may be kept. */
export interface DescribedServer {
  readonly name: string;
  /** Nothing is kept if it is undefined. */
  readonly definitionHash?: string | undefined;
  /** Texts that must not be written to disk. */
  readonly secrets?: readonly string[] | undefined;
  /** What happens if its tools change; by default as the setting says. */
  readonly pin?: PinMode | undefined;
}

/** For a tool that differs from the accepted one: nothing happens, the change is shown, or calls are refused. */
export type PinMode = 'off' | 'warn' | 'strict';

export interface MetadataSource {
  /** The metadata kept for this definition, if there is any. Never rejects. */
  kept(server: DescribedServer): Promise<ServerMetadata | undefined>;
  /** The current metadata; the same object until it changes. Rejects as `describe` does. */
  current(server: DescribedServer, signal: CancelSignal): Promise<ServerMetadata>;
  /** Earlier metadata, updated with what was accepted meanwhile. Does not ask the server. */
  review(server: DescribedServer, given: ServerMetadata): Promise<ServerMetadata>;
  /** Resolves when everything has been written. */
  flush(): Promise<void>;
}

/** Notes failures of servers in `failures`. */
export function createMetadataSource(
  lister: ServerLister,
  cache: MetadataCache | undefined,
  failures?: ServerFailures,
): MetadataSource {
  const taken = new WeakMap<Listing, Promise<ServerMetadata>>();
  const writing = new Set<Promise<void>>();

  function inBackground(write: Promise<void> | undefined): void {
    if (write !== undefined) {
      writing.add(write);
      void write.finally(() => writing.delete(write));
    }
  }

  async function ask({ name, definitionHash, secrets = [] }: DescribedServer, signal: CancelSignal): Promise<Listing> {
    try {
      return await lister.describe(name, { signal });
    } catch (error) {
      inBackground(
        definitionHash === undefined
          ? undefined
          : failures?.note({ name, definitionHash }, toBridgeError(error), secrets),
      );
      throw error;
    }
  }

  async function takeAndKeep(server: DescribedServer, listing: Listing): Promise<ServerMetadata> {
    const metadata = await takeIn(listing);
    if (cache !== undefined && server.definitionHash !== undefined) {
      inBackground(cache.save(server.definitionHash, metadata, server.secrets ?? [], listing.wasUsed));
      inBackground(failures?.forget(server.definitionHash));
    }
    return metadata;
  }

  return {
    async kept({ definitionHash }) {
      return definitionHash === undefined ? undefined : cache?.load(definitionHash);
    },
    async current(server, signal) {
      const listing = await ask(server, signal);
      const metadata = taken.get(listing) ?? takeAndKeep(server, listing);
      taken.set(listing, metadata);
      return metadata;
    },
    review: async (_, given) => given,
    async flush() {
      await Promise.all(writing);
    },
  };
}

async function takeIn({ info, tools, notices, fingerprints }: Listing): Promise<ServerMetadata> {
  const pause = createPause();
  const intake = createIntake();
  for (const tool of tools) {
    intake.add(tool, fingerprints?.get(tool.name));
    await pause();
  }
  return intake.finish(info, notices);
}

/** The texts of an accepted tool that were shown, by part. */
export type ShownTexts = Readonly<Record<string, string>>;

/** A tool that differs from the accepted one. */
export interface ToolDifference {
  readonly tool: string;
  readonly change: ToolChange;
  /** Undefined if there was no such tool, or its texts were not kept. */
  readonly before: ShownTexts | undefined;
  readonly after: ShownTexts;
}

/** The accepted definitions of tools. */
export interface DefinitionReview {
  /** The tools of a server that differ from the accepted ones. Rejects if the accepted ones cannot be read. */
  differences(server: DescribedServer, given: ServerMetadata): Promise<ToolDifference[]>;
  /** Accepts tools as they are now. Rejects if that cannot be written. */
  accept(server: DescribedServer, given: ServerMetadata, tools: readonly string[]): Promise<void>;
}
