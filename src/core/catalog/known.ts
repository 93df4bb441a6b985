/** The records of the catalog: what is known about servers and tools. */

import type { Named } from './names.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** A tool in the catalog: JSON that is safe to show. */
export interface KnownTool {
  /** Unique within its server; nearly always the exact name. */
  readonly name: string;
  /** The exact name, if it contains hidden characters. */
  readonly wireName?: string;
  readonly title?: string;
  /** Empty if there is none. */
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: JsonSchema;
  /** Texts in the input schema with hidden characters: as shown, and as the server expects them. */
  readonly hiddenTexts?: readonly (readonly [shown: string, exact: string])[];
  /** Changes whenever the server changes the definition, including the parts that are not shown. */
  readonly fingerprint?: string;
  /** How it differs from the accepted definition. Never stored, because a person may accept it at any time. */
  readonly change?: ToolChange;
}

/** What a server said about itself, unchecked. */
export interface ServerWords {
  readonly protocolVersion?: string | undefined;
  readonly serverName?: string | undefined;
  readonly serverVersion?: string | undefined;
  readonly instructions?: string | undefined;
  readonly capabilities?: JsonSchema | undefined;
}

/** What is known about a server: JSON, so that it can be stored. */
export interface ServerMetadata {
  readonly tools: readonly KnownTool[];
  /** What was left out or cut and why, in one clause each. */
  readonly notices: readonly string[];
  readonly protocolVersion?: string;
  readonly serverName?: string;
  readonly serverVersion?: string;
  readonly instructions?: string;
  readonly capabilities?: JsonSchema;
}

export interface ToolChange {
  /** The parts that differ, such as `description`; empty for a tool that is new. */
  readonly parts: readonly string[];
  /** The day the tool was accepted, such as `2026-11-21`; empty if it never was. */
  readonly since: string;
  /** Whether calls are refused until a person accepts the tool. */
  readonly isRefused: boolean;
}

export interface CatalogServer extends Named {
  /** Empty if the configuration has none. */
  readonly description: string;
  /** What is decided about its calls if no policy is stricter, for what has no entry. Nothing by default. */
  readonly least?: { readonly effect: 'ask'; readonly reason: string } | undefined;
}

export interface CatalogTool extends KnownTool, Named {}
