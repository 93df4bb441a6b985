/**
 * A cell as the front hands it to the sessions, and its answer as the sessions give it and the renderer shows it.
 * Types only: the three know of each other no more than this.
 */
import type { ErrorCode } from './errors.ts';

/** Name of the session when the client names none. */
export const DEFAULT_SESSION = 'default';

/** One stream of a cell: its start, what was left out behind it, and its end. */
export interface OutputText {
  readonly head: string;
  /** Bytes left out between `head` and `tail`; 0 when nothing is missing. */
  readonly droppedBytes: number;
  /** Line ends among the bytes left out. */
  readonly droppedLines: number;
  /** Empty when nothing is missing. */
  readonly tail: string;
}

/**
 * Something of an answer that is no text of its own: an image, a sound, a document, a file that was kept. The printed
 * text has a line in its place.
 */
export type Attachment =
  | { readonly kind: 'image' | 'audio'; readonly mimeType: string; readonly base64: string }
  | { readonly kind: 'document'; readonly uri: string; readonly mimeType: string; readonly text: string }
  | {
      readonly kind: 'link';
      readonly uri: string;
      readonly name: string;
      readonly mimeType: string;
      readonly sizeBytes: number;
    };

export interface CellProgress {
  readonly message: string;
  /** 0 … 100 when known. */
  readonly percent?: number | undefined;
  /** True while the code itself runs; before that the message says what is being prepared. */
  readonly isRunning?: boolean | undefined;
}

/** A question to a person, with the fields of a form or with a page to open (MCP: client/elicitation). */
export type Question =
  | { readonly mode: 'form'; readonly message: string; readonly requestedSchema: Readonly<Record<string, unknown>> }
  | { readonly mode: 'url'; readonly message: string; readonly url: string };

/** What a field of a form may hold. */
export type FieldValue = string | number | boolean | readonly string[];

export interface Reply {
  /** `decline` is a no, `cancel` a question that was closed. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** What was filled in; nothing is known about it beyond its type. */
  readonly content?: Readonly<Record<string, FieldValue>> | undefined;
}

/** The person at the client. */
export interface Person {
  /** Whether a question may be a page to open. */
  readonly opensPages: boolean;
  /** Puts a question. Rejects when the client fails, and when `signal` aborts, which takes the question back. */
  ask(question: Question, signal: AbortSignal): Promise<Reply>;
}

export interface CellRequest {
  readonly code: string;
  /** Names of configured servers to load, each once. */
  readonly servers: readonly string[];
  readonly timeoutMs: number;
  readonly session: string;
  /** Aborted when the client cancels the request or goes away. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  /** Resolves when the client has room for another answer; the cell waits for it when its turn has come. */
  readonly untilRoom?: (() => Promise<void>) | undefined;
  /** Who can be asked while the cell runs; undefined when the client cannot ask anybody. */
  readonly person?: Person | undefined;
}

export const CELL_STATUSES = ['success', 'error', 'timeout', 'cancelled', 'validation_error'] as const;
export type CellStatus = (typeof CELL_STATUSES)[number];

/**
 * Why a cell failed. Only the host sets a code: sandboxed code can raise, print and send what it likes, and none of it is
 * read for one (docs/decisions/032).
 */
export interface CellError {
  /** Why the bridge ended or refused the cell, or refused the call that ended it; undefined for a failure of the code's own. */
  readonly code?: ErrorCode | undefined;
  /** What failed; of an exception its text, which may be empty. */
  readonly message: string;
  /** One next step. */
  readonly hint?: string | undefined;
  /** Class of the uncaught exception, an identifier; undefined when none ended the cell. */
  readonly exception?: string | undefined;
  /** Where the exception was raised, or the interrupt struck, as Python prints it. */
  readonly traceback?: string | undefined;
}

export interface CellAnswer {
  readonly status: CellStatus;
  readonly stdout: OutputText;
  readonly stderr: OutputText;
  /** In the order in which the cell showed them. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Number of the cell in its session; undefined when none ran. */
  readonly cell?: number | undefined;
  /** Text of the last expression. */
  readonly value?: string | undefined;
  readonly error?: CellError | undefined;
  readonly exitCode?: number | undefined;
  /** Names of the servers loaded in the session. */
  readonly servers: readonly string[];
  readonly session: string;
  readonly timeoutSeconds: number;
  /** Sentences shown before everything else, for example that state was lost. */
  readonly notices: readonly string[];
  /** What runs the session: in its first answer, and again when that has changed. */
  readonly engine?: EngineReport | undefined;
}

/** What keeps the code of a session in. */
export interface EngineReport {
  readonly name: string;
  /** One short line. */
  readonly isolation: string;
  /** Engines that would have come first, and why they are not used, in one clause each. */
  readonly refused: readonly { readonly engine: string; readonly reason: string }[];
}

/** A stream nothing was written to. */
export const NO_OUTPUT: OutputText = { head: '', droppedBytes: 0, droppedLines: 0, tail: '' };
