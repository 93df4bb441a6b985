/** The contract of a command: how a feature adds one to the command line, and what it gets to run with. */
import type { Command as CommandDefinition } from 'commander';
import type { Person } from '../base/cell.ts';
import type { Logger } from '../base/log.ts';
import type { CatalogServer, CatalogTool } from '../catalog/known.ts';
import type { ConfiguredServers, OpenServers } from '../directory/configured-servers.ts';
import type { Bridge } from '../server/lazy-bridge.ts';
import type { Settings } from '../settings/settings.ts';
import type { Settle } from './define.ts';
import type { Terminal } from './terminal-person.ts';

/** One or more commands of a feature. `Line` is what the user typed, as data. */
export interface Command<Line extends { readonly command: string }> {
  /** Values of `Line['command']`. */
  readonly names: readonly Line['command'][];
  /** What a group does without a subcommand, by the name of the group. */
  readonly defaultActions?: Readonly<Record<string, string>>;
  /** Adds it to the program, and hands over each line that was typed. */
  define(program: CommandDefinition, settle: Settle<Line>): void;
  /** Resolves with the exit code. Loads what it needs when it is called, so that other commands do not pay for it. */
  run(line: Line, host: CommandHost): Promise<number>;
}

export type LineOf<Plugged> = Plugged extends Command<infer Line> ? Line : never;

/** What every command that needs settings starts from. */
export interface CommandContext {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Makes a bridge; nothing is started before its first cell. */
  readonly createBridge: () => Promise<Bridge>;
  /** Starts nothing and reads no server file before the first `refresh`. */
  readonly openServers: OpenServers;
  /** Calls one tool for a person, through the same gates as a call of code. */
  readonly callByPerson: CallByPerson;
}

/** The terminal or pipe that a command talks to, and the environment it was started in. */
export interface CommandHost {
  readonly env: NodeJS.ProcessEnv;
  readonly input: NodeJS.ReadableStream;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether what is written is shown on a terminal that knows colours. */
  readonly hasColours: boolean;
  /** Whether stdout is a terminal. */
  readonly isShown: boolean;
  /** Where a person sees a question and can type an answer; undefined if there is no terminal. */
  readonly terminal: Terminal | undefined;
  /** Who reads stdout and can be asked about it; undefined for a pipe or a script. */
  findPerson(): Promise<Person | undefined>;
  /** Ends the process when the reader of stdout, `head` for one, has seen enough. */
  endWhenUnread(): void;
  /** The context of `env`, with warnings about misspelled settings. Rejects with `CONFIG_INVALID`. */
  loadContext(): Promise<CommandContext>;
  /** The context of another environment, without a word. Rejects with `CONFIG_INVALID`. */
  createContext(env: NodeJS.ProcessEnv): Promise<CommandContext>;
}

/** A call that a person typed; the arguments are checked. */
export interface TypedCall {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
}

/** Where the person can be asked, and where notices go. */
export type CallerIo = Pick<CommandHost, 'terminal' | 'writeError'>;

/**
 * The untouched `CallToolResult`. Rejects as calls of code do; with `CALL_TIMEOUT` at the end of its time, in which a
 * person who thinks does not count.
 */
export type CallByPerson = (call: TypedCall, servers: ConfiguredServers, io: CallerIo) => Promise<unknown>;
