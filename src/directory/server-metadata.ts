/** What servers say about themselves: from the running server, which is then kept, or from what was kept. */
import type { CancelSignal } from '../base/cancel.ts';
import { toBridgeError } from '../base/errors.ts';
import { createPause } from '../base/slices.ts';
import { createIntake, type ListedTool } from '../catalog/intake.ts';
import type { ServerMetadata, ServerWords, ToolChange } from '../catalog/known.ts';
import type { MetadataCache } from './metadata-cache.ts';
import type { ServerFailures } from './server-failures.ts';

/** A running server in its own words; nothing of it was checked but the names of the tools. */
export interface Listing {
  readonly info: ServerWords;
  readonly tools: readonly ListedTool[];
  readonly notices: readonly string[];
  /** By the name of the tool. */
  readonly fingerprints?: ReadonlyMap<string, string>;
}

/** Where listings come from. */
export interface ServerLister {
  /**
   * What a server says now, the same object as long as it did not change. Starts the server if need be and rejects with
   * a `BridgeError`.
   */
  describe(server: string, options: { readonly signal: CancelSignal }): Promise<Listing>;
}

/** A server whose metadata may be kept. */
export interface DescribedServer {
  readonly name: string;
  /** Nothing is kept without it. */
  readonly definitionHash?: string | undefined;
  /** What must not be written to disk. */
  readonly secrets?: readonly string[] | undefined;
  /** What happens when its tools change; the setting when left out. */
  readonly pin?: PinMode | undefined;
}

/** A tool that is not the one that was accepted: nothing happens, it is shown, or it is refused. */
export type PinMode = 'off' | 'warn' | 'strict';

export interface MetadataSource {
  /** What was kept of this definition, if anything. Never rejects. */
  kept(server: DescribedServer): Promise<ServerMetadata | undefined>;
  /** What the server says now, the same object as long as it did not change. Rejects as `describe` does. */
  current(server: DescribedServer, signal: CancelSignal): Promise<ServerMetadata>;
  /** What it gave before, with what was accepted meanwhile. The server is not asked. */
  review(server: DescribedServer, given: ServerMetadata): Promise<ServerMetadata>;
  /** Resolves when everything is written. */
  flush(): Promise<void>;
}

/** With `failures` it is kept, too, why a server could not be asked. */
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
        definitionHash === undefined ? undefined : failures?.note(definitionHash, toBridgeError(error), secrets),
      );
      throw error;
    }
  }

  async function takeAndKeep(server: DescribedServer, listing: Listing): Promise<ServerMetadata> {
    const metadata = await takeIn(listing);
    if (cache !== undefined && server.definitionHash !== undefined) {
      inBackground(cache.save(server.definitionHash, metadata, server.secrets ?? []));
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

/** What was shown of a tool when it was accepted, by part. */
export type ShownTexts = Readonly<Record<string, string>>;

/** A tool that differs from the accepted one. */
export interface ToolDifference {
  readonly tool: string;
  readonly change: ToolChange;
  /** By part; undefined if there was no such tool, or its texts were not kept. */
  readonly before: ShownTexts | undefined;
  readonly after: ShownTexts;
}

/** The accepted definitions of tools. */
export interface DefinitionReview {
  /** How a server differs from what was accepted. Rejects if that cannot be read. */
  differences(server: DescribedServer, given: ServerMetadata): Promise<ToolDifference[]>;
  /** Accepts tools as they are. Rejects if that cannot be written. */
  accept(server: DescribedServer, given: ServerMetadata, tools: readonly string[]): Promise<void>;
}
