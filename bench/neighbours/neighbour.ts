/** What a program that lets agents call MCP servers must offer to be measured beside the bridge. */
import type { ServerCommand } from '../support/servers.ts';

/** Servers by name. */
export type Servers = Readonly<Record<string, ServerCommand>>;

export interface Hit {
  readonly server: string;
  readonly tool: string;
}

export interface Neighbour {
  /** Name in tables, and of its folder. */
  readonly name: string;
  /** Where its packages are from; npm by default. */
  readonly registry?: 'npm' | 'pypi';
  /** Pinned packages to install, the program itself first; none for the bridge. */
  readonly packages: Readonly<Record<string, string>>;
  /** It cannot run without what install scripts of its packages build. */
  readonly needsInstallScripts?: boolean;
  readonly licence: string;
  readonly language: string;
  /** What separates the code from the machine, in a few words. */
  readonly isolation: string;
  /** Whether it needs Node 24; the bridge runs on the Node of the benchmark. */
  readonly needsNewerNode?: boolean;
  /** Registers the servers in `place.home`, once per run. */
  prepare(place: Place, servers: Servers): Promise<void>;
  /** Starts it, and resolves when it has listed its tools. */
  open(place: Place): Promise<Running>;
}

/** Where a neighbour is installed and runs. */
export interface Place {
  /** Has the `node_modules` or the virtual environment of its packages. */
  readonly folder: string;
  /** Its home and working directory, for everything that it keeps. */
  readonly home: string;
  readonly node: string;
  /** Of its virtual environment; `python3` of the machine for packages from npm. */
  readonly python: string;
}

export interface Running {
  /** What an agent has in its context in every conversation, before it does anything. Undefined for a library. */
  readonly definitions?: string;
  /** Runs Python as it is written, and returns what the agent sees; rejects with it if the code failed. Undefined for other languages. */
  readonly cell?: (code: string) => Promise<string>;
  /** Adds one and one in code; returns what the agent sees. */
  add(): Promise<string>;
  /** Undefined if its code cannot call MCP servers. */
  readonly calls?: {
    /** Calls `echo` of the server `echo` with the text `x` from code. */
    one(): Promise<string>;
    /** Calls it 50 times from one piece of code and returns the number of answers. */
    fifty(): Promise<string>;
  };
  /** The first five tools for a query. Undefined if it has no search. */
  search?(queries: readonly string[]): Promise<readonly (readonly Hit[])[]>;
  close(): Promise<void>;
}

export const CALLS_AT_ONCE = 50;
export const SEARCH_HITS = 5;
