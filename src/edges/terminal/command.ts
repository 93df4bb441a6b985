/** The contract of a command: how a feature adds it to the command line, and what it is given when it runs. */
import type { CellAnswer, CellStatus, Person, Question } from '../../core/base/cell.ts';
import type { BridgeError } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import type { Logger } from '../../core/base/log.ts';
import type { Measure } from '../../core/base/measure.ts';
import type { WaitingAnswer, WaitingQuestion, WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { Approvals, CallGate, Decision, Effect } from '../../core/calls/contract.ts';
import type { CatalogServer, CatalogTool } from '../../core/catalog/known.ts';
import type { SizedTool } from '../../core/directory/definition-size.ts';
import type { Bridge } from '../../core/session/lazy-bridge.ts';
import type { SessionRoom } from '../../core/session/session-room.ts';
import type { ConfiguredServers, OpenServers } from '../configured/configured-servers.ts';
import type { Settings } from '../settings/settings.ts';
import type { StoredSettings } from '../settings/stored-settings.ts';
import type { LoginStore, RemoteDefinition } from '../upstream/pool.ts';
import type { Group, LineOf, Single } from './define.ts';
import type { Terminal } from './terminal-person.ts';

/** A command of a feature, or a group of them. */
export interface Command<Table extends Group | Single = Group | Single> {
  readonly table: Table;
  /** Resolves with the exit code. Loads its modules only now, to keep other commands fast. */
  run(line: LineOf<Table>, host: CommandHost): Promise<number>;
}

/** What a command gets once the settings are loaded. */
export interface CommandContext {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Creates a bridge. It starts nothing before its first cell. */
  readonly createBridge: (options?: BridgeOptions) => Promise<Bridge>;
  /** Reads a recording, to run code with its answers instead of servers. Rejects with `USAGE_INVALID`. */
  readonly openReplay: (path: string) => Promise<OpenedReplay>;
  /** Finds a function that code has kept, or a shared one. Rejects with `USAGE_INVALID` or `CALL_REFUSED`. */
  readonly findFunction: (name: string) => Promise<KeptFunction>;
  /** Names of the functions that can be found. */
  readonly listFunctions: () => Promise<readonly string[]>;
  /** The questions that wait for a person. */
  readonly openQuestions: () => Promise<RunQuestions>;
  /** Starts nothing and reads no server file before the first `refresh`. */
  readonly openServers: OpenServers;
  /** Calls one tool for a person, through the same gates as a call of code. */
  readonly callByPerson: CallByPerson;
  /** Notes in the audit log what a person has added with `packages add`. Logs a failure. */
  readonly recordPackages: (added: PackagesRecord) => Promise<void>;
  /** Explains what happens if code asks for a package. Looks nothing up. Rejects with `USAGE_INVALID` for what is no requirement. */
  readonly explainPackage: (requirement: string, rules: PackageRules | undefined) => Promise<PackageVerdict>;
}

export interface BridgeOptions {
  /**
   * The name of the client, which may be known only when its first cell arrives; undefined for a command. Sessions that last belong
   * to it, and it finds the last state of `default`.
   */
  readonly client?: (() => string) | undefined;
  /** Whether all clients share the session `default`, also with bridges to come, so that it lasts as one with a name does. */
  readonly sharesDefault?: boolean | undefined;
  /** How long its end waits for the last checkpoint of each session, if that is not as usual. */
  readonly lastCheckpointMs?: number | undefined;
  /** The tools that the client lists; undefined for a command. */
  readonly listedTools?: (() => readonly SizedTool[]) | undefined;
  /** Calls of tools that are not marked read-only get a stand-in. */
  readonly isDryRun?: boolean | undefined;
  /** The file of a run: one that was interrupted goes on, and a new one is recorded there. */
  readonly resume?: string | undefined;
  /** For a run without a person: decides about each call, and watches what is sent. */
  readonly unattended?: ((parts: RunParts) => Promise<UnattendedCalls>) | undefined;
  /** Whose bridge it is; undefined for the user of this machine. */
  readonly principal?: BridgePrincipal | undefined;
  /** Limits of policies, programs and builders count together in all bridges with the same object: those of a principal. Alone by default. */
  readonly countedFor?: object | undefined;
  /** The profile of `policy.json` that it serves; by default that of the settings. */
  readonly profile?: string | undefined;
  /** Pages on which the principal can log in at servers; without them, errors name a command. */
  readonly loginPages?: LoginInvitations | undefined;
  /** Shared by the bridges of this process. */
  readonly room?: SessionRoom | undefined;
  /** Gets what is measured, besides OpenTelemetry. */
  readonly measure?: Measure | undefined;
  /** Called when a call to a server has ended. */
  readonly onCall?: ((outcome: 'ok' | 'failed') => void) | undefined;
}

/** Questions of runs without a person. Each method rejects with `STATE_WRITE_FAILED` if the state directory cannot be written. */
export interface RunQuestions extends WaitingQuestions {
  /** Adds the question unless the run has it. Rejects with `APPROVAL_UNAVAILABLE` if too many wait. */
  ask(about: AskedQuestion & { readonly question: Question }): Promise<WaitingQuestion>;
  /** Undefined as long as there is none. */
  answerTo(about: AskedQuestion): Promise<WaitingAnswer | undefined>;
  /** Removes those of a run, or of all runs of a schedule. */
  forget(of: { readonly schedule: string; readonly run?: string }): Promise<void>;
}

interface AskedQuestion {
  readonly schedule: string;
  readonly run: string;
  /** What is asked, within the run. */
  readonly key: string;
}

/** What a bridge knows of the run in `resume`. */
export interface RunParts {
  /** Replaces known secrets in every string of a JSON value. */
  readonly mask: <Value>(value: Value) => Value;
  /** The calls that an interrupted run has recorded, in their order. */
  readonly calls: readonly AnsweredCall[];
}

export interface AnsweredCall {
  readonly server: string;
  readonly tool: string;
  /** With masked secrets. */
  readonly arguments: JsonObject;
  /** Whether the recorded answer can be given again. */
  readonly isUsable: boolean;
  readonly error?: BridgeError | undefined;
}

/** What takes the place of a person in a run without one. */
export interface UnattendedCalls {
  /** Asked if a policy requires approval. */
  readonly approvals: Approvals;
  /** After the policies. */
  readonly rights: CallGate;
  /** Around each call that is sent, and not answered from what was recorded. */
  readonly sent: CallGate;
  /** Called for each call of a step that is not done again, because the run has kept its result. */
  skip(call: AnsweredCall): void;
}

/** Where users log in at servers that are "per user". */
export interface LoginInvitations {
  /** The address of a page at which the owner of the definition can log in. */
  invite(definition: RemoteDefinition, store: LoginStore, scope: string | undefined): string;
  /** Resolves with whether the user has logged in there, at the latest when the address is no longer valid. */
  ended(address: string): Promise<boolean>;
}

/** One of several people that a process serves. Everything that their sessions leave belongs to them. */
export interface BridgePrincipal {
  /** In audit records; undefined for the user of this machine. Its bridges share `maxSessions`. */
  readonly name: string | undefined;
  /** Absolute path: checkpoints, artifacts, saved functions and consents are there instead of in the state directory. */
  readonly folder: string;
  /** Names or patterns of the only servers that exist for it; undefined for all. */
  readonly servers?: readonly string[] | undefined;
  readonly maxSessions?: number | undefined;
}

/** A function that code has kept, according to its source. */
export interface KeptFunction {
  readonly name: string;
  readonly isAsync: boolean;
  /** First line of the docstring. */
  readonly summary: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Parameters that can be given by position only, in order. */
  readonly positional: readonly string[];
  /** The lines of its imports. */
  readonly imports: readonly string[];
  /** As it is stored. */
  readonly source: string;
  /** Servers that it names, by any name. */
  readonly servers: readonly string[];
}

/** A recording. */
export interface OpenedReplay {
  /** In the order in which they were recorded. */
  readonly cells: readonly {
    readonly code: string;
    readonly servers: readonly string[];
    readonly session: string;
    readonly timeoutSeconds: number;
    /** Undefined if the bridge ended first. */
    readonly status: CellStatus | undefined;
    /** Whether it ended as when it was recorded. */
    isSame(answer: CellAnswer): boolean;
  }[];
  /** In the order in which they began. */
  readonly calls: readonly (AnsweredCall & {
    /** Whether the tool only reads, according to its server. */
    readonly isReading: boolean;
  })[];
  /** Creates a bridge whose calls are answered from the recording. */
  createBridge(): Promise<Bridge>;
}

/** The streams, the terminal and the environment of a command. */
export interface CommandHost {
  readonly env: NodeJS.ProcessEnv;
  readonly input: NodeJS.ReadableStream;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
  /** Whether to color what goes to stdout. */
  readonly hasColors: boolean;
  /** Whether stdout is a terminal. */
  readonly isShown: boolean;
  /** Size of the terminal on stdout, if it is one and says so. */
  readonly screenSize?: () => { readonly columns: number | undefined; readonly rows: number | undefined };
  /** Whether stderr is a terminal. */
  readonly isErrorShown: boolean;
  /** For questions on stderr and answers on stdin; undefined unless both are terminals. */
  readonly terminal: Terminal | undefined;
  /** The person who sees stdout and can answer on stdin; undefined unless both are terminals. */
  findPerson(): Promise<Person | undefined>;
  /** Exits the process when the reader of stdout closes it, as `head` does. */
  endWhenUnread(): void;
  /** The context of `env`. Warns about misspelled settings. Rejects with `CONFIG_INVALID`. */
  loadContext(): Promise<CommandContext>;
  /** The context of another environment, without warnings. Rejects with `CONFIG_INVALID`. */
  createContext(env: NodeJS.ProcessEnv, stored: StoredSettings): Promise<CommandContext>;
}

/** The rules of `policy.json` about packages. */
export interface PackageRules {
  /** Undefined if no rule matches. Without a version, the question is whether the name may be looked up. */
  ofPackage(name: string, version: string | undefined): Decision | undefined;
  /** The rules that can decide about a name, in order. At most the last one is for all versions. */
  rulesOfPackage(name: string): readonly (Decision & { readonly version: string | undefined })[];
}

export interface PackageVerdict {
  /** As pip reads it. */
  readonly requirement: string;
  /** From the mildest to the strictest; more than one if they depend on the version. */
  readonly effects: readonly Effect[];
  /** The rule or the setting that decides; one clause for people. */
  readonly reason: string;
}

/** Packages that a person has added. */
interface PackagesRecord {
  readonly packages: readonly { readonly name: string; readonly version: string; readonly sha256: string }[];
  readonly fetchedBytes: number;
}

/** A call typed by a person, with checked arguments. */
export interface TypedCall {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
}

/** Where the person can be asked for approval, and where notices go. */
export type CallerIo = Pick<CommandHost, 'terminal' | 'writeError'>;

/**
 * Resolves with the unmodified `CallToolResult`. Rejects with the errors of a call from code, and with `CALL_TIMEOUT` after
 * `timeoutMs`, not counting the time a person takes to answer a question.
 */
export type CallByPerson = (call: TypedCall, servers: ConfiguredServers, io: CallerIo) => Promise<unknown>;

/** The line of an action of a group. */
export type LineFor<Line extends { readonly action: string }, Action extends Line['action']> = Extract<
  Line,
  { readonly action: Action }
>;

/** What carries out each action of a group. */
type Handlers<Line extends { readonly action: string }, Work> = {
  readonly [Action in Line['action']]: (line: LineFor<Line, Action>, work: Work) => Promise<number>;
};

/** Resolves with the exit code of the handler for the action of the line. */
export function carryOut<Line extends { readonly action: string }, Work>(
  handlers: Handlers<Line, Work>,
  line: Line,
  work: Work,
): Promise<number> {
  const handle = handlers[line.action as Line['action']] as (line: Line, work: Work) => Promise<number>;
  return handle(line, work);
}
