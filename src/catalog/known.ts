/** What is known of servers and tools: the records that the catalog keeps and everybody reads. */

import type { Named } from './names.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool as the catalog keeps it: JSON, safe to show. */
export interface KnownTool {
  /** Unique among the tools of its server, nearly always the exact name. */
  readonly name: string;
  /** The exact name, when it holds hidden characters. */
  readonly wireName?: string;
  readonly title?: string;
  /** Empty when there is none. */
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: JsonSchema;
  /** Texts of the input schema that hold hidden characters: as shown, and as the server expects them. */
  readonly hiddenTexts?: readonly (readonly [shown: string, exact: string])[];
  /** Changes whenever the server says something else of the tool, also in what is not shown. */
  readonly fingerprint?: string;
  /** How it differs from what was accepted; never kept, because it may be accepted meanwhile. */
  readonly change?: ToolChange;
}

/** What a server said about itself; nothing of it was checked. */
export interface ServerWords {
  readonly protocolVersion?: string | undefined;
  readonly serverName?: string | undefined;
  readonly serverVersion?: string | undefined;
  readonly instructions?: string | undefined;
  readonly capabilities?: JsonSchema | undefined;
}

/** What is known of a server: JSON, so that it can be kept on disk. */
export interface ServerMetadata {
  readonly tools: readonly KnownTool[];
  /** What was left out or cut and why, one clause each. */
  readonly notices: readonly string[];
  readonly protocolVersion?: string;
  readonly serverName?: string;
  readonly serverVersion?: string;
  readonly instructions?: string;
  readonly capabilities?: JsonSchema;
}

export interface ToolChange {
  /** What differs, in words; empty for a tool that was not there. */
  readonly parts: readonly string[];
  /** Day when the tool was accepted, for example `2026-11-21`; empty when it never was. */
  readonly since: string;
  /** Whether calls are refused until a person accepts it. */
  readonly isRefused: boolean;
}

export interface CatalogServer extends Named {
  /** Empty when the configuration has none. */
  readonly description: string;
}

export interface CatalogTool extends KnownTool, Named {}
