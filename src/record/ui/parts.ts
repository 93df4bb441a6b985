/** What the page shows and changes of other features. `cli/` plugs them in, because features know nothing of each other. */
import type { QuestionedCall } from '../../core/base/cell.ts';
import type { WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { Effect } from '../../core/calls/contract.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import type { CommandContext, CommandHost } from '../../edges/terminal/command.ts';
import type { StoredThings } from '../../edges/terminal/stored-things.ts';
import type { UiRule, UiStoredKind } from './schema.ts';

export type UiContext = Pick<CommandContext, 'settings' | 'logger' | 'openServers'> & Pick<CommandHost, 'env'>;

/** Rules that were added to a policy, or would be. */
export interface AddedRules {
  readonly file: string;
  readonly rules: readonly UiRule[];
}

/** The user's policy. */
export interface PolicyEditor {
  /** The rules that could decide about calls of a tool, in order. */
  explain(
    server: string,
    tool: string,
  ): Promise<
    readonly {
      readonly place: string;
      readonly effect: Effect;
      readonly outcome: string;
      readonly why: string | null;
    }[]
  >;
  plan(calls: readonly QuestionedCall[]): Promise<AddedRules | { readonly why: string }>;
  /** Rejects with `CALL_REFUSED` if no rule can allow the calls. */
  allow(calls: readonly QuestionedCall[], asked: string): Promise<AddedRules>;
  deny(server: string, tools: readonly string[], reason: string): Promise<AddedRules>;
}

/** What is kept of a cell. */
export interface KeptParts {
  readonly ended:
    | { readonly stdout: string; readonly value?: string | undefined; readonly error?: string | undefined }
    | undefined;
  readonly calls: readonly {
    /** Its number in its sandbox; undefined in a recording of an earlier version. */
    readonly call?: number | undefined;
    readonly server: string;
    readonly tool: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly result?: unknown;
    readonly error?: { readonly message: string } | undefined;
    readonly left_out_bytes?: number | undefined;
  }[];
}

/** A file that is read while it is sent. */
export interface SentFile {
  readonly name: string;
  readonly mimeType: string;
  readonly sizeBytes: number;
  pieces(): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export interface UiParts {
  openPolicy(context: UiContext, servers: ConfiguredServers): PolicyEditor;
  /** Undefined if the folder has no recording of the cell. */
  readKeptCell(folder: string, id: string): Promise<KeptParts | undefined>;
  /** Names of functions that can be kept. */
  functionNamesIn(code: string): readonly string[];
  /** Rejects with `CALL_REFUSED`. */
  keepFunction(code: string, name: string, context: UiContext): Promise<void>;
  openQuestions(context: UiContext): WaitingQuestions;
  stored(kind: UiStoredKind, context: UiContext): StoredThings;
  /** The content of an artifact or a function. Undefined if there is none. */
  readStored(kind: UiStoredKind, id: string, context: UiContext): Promise<SentFile | undefined>;
}
