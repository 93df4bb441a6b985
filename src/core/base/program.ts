/**
 * A program: code in any language that runs once in a sandbox of its own, as the features that start programs pass it to the one
 * that runs them, and what came out of it.
 */

/** A file beside the program, or one that it has left. */
export interface ProgramFile {
  /** Relative path with `/` as separator; never absolute and never with `..`. */
  readonly name: string;
  readonly content: Uint8Array;
}

/** What to run: code in a language, or a stored snippet. */
export type ProgramSource =
  | {
      readonly kind: 'code';
      /** Name or alias of a language. */
      readonly language: string;
      readonly code: string;
      /** Name of the file that gets the code; by default that of the language. */
      readonly fileName?: string | undefined;
    }
  | { readonly kind: 'snippet'; readonly name: string };

export interface ProgramRequest {
  readonly source: ProgramSource;
  readonly files: readonly ProgramFile[];
  readonly args: readonly string[];
  readonly stdin: Uint8Array;
  /** Undefined for the deadline of the language. */
  readonly timeoutMs: number | undefined;
  /** Whether the result has the files that the program has made or changed. */
  readonly wantsFiles: boolean;
}

export interface ProgramResult {
  readonly status: 'success' | 'error' | 'timeout';
  /** Undefined if the program was ended, for example at its deadline. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** Bytes of output beyond what is kept of each stream. */
  readonly droppedBytes: number;
  readonly durationMs: number;
  /** Empty unless asked for. */
  readonly files: readonly ProgramFile[];
}
