/**
 * A cell as `server/` passes it to `session/`, and the answer that `session/` returns and `render/` shows. These types are all
 * that the three share.
 */
import type { ErrorCode } from './errors.ts';

/** The session used when the client names none. */
export const DEFAULT_SESSION = 'default';

/** One output stream of a cell: its start, how much was dropped from the middle, and its end. */
export interface OutputText {
  readonly head: string;
  /** Bytes dropped between `head` and `tail`; 0 if nothing is missing. */
  readonly droppedBytes: number;
  /** Line feeds among the dropped bytes. */
  readonly droppedLines: number;
  /** Empty if nothing is missing. */
  readonly tail: string;
}

/** A non-text part of an answer: an image, a sound, a document, or a link to a saved file. The printed text has a line in its place. */
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
  /** 0 to 100, if known. */
  readonly percent?: number | undefined;
  /** True while the code runs; before that, the message says what is being prepared. */
  readonly isRunning?: boolean | undefined;
}

/** A call that a person is asked about. */
export interface QuestionedCall {
  readonly server: string;
  readonly tool: string;
  /** The rule that asks, and where it is; one clause. */
  readonly reason: string;
}

/** A question for the person: a form to fill in or a page to open (MCP: client/elicitation). */
export type Question =
  | {
      readonly mode: 'form';
      readonly message: string;
      readonly requestedSchema: Readonly<Record<string, unknown>>;
      /** The different calls that it is about, if it is about calls. Clients do not get them. */
      readonly calls?: readonly QuestionedCall[];
    }
  | { readonly mode: 'url'; readonly message: string; readonly url: string };

/** The value of a form field. */
export type FieldValue = string | number | boolean | readonly string[];

export interface Reply {
  /** `decline` means no; `cancel` means the question was dismissed. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** The values of the form. Only their types have been checked. */
  readonly content?: Readonly<Record<string, FieldValue>> | undefined;
}

/** The person at the client. */
export interface Person {
  /** Whether the client can open a page (`mode: 'url'`). */
  readonly opensPages: boolean;
  /** Asks a question. Rejects if the client fails or `signal` aborts; aborting withdraws the question. */
  ask(question: Question, signal: AbortSignal): Promise<Reply>;
}

/** What a client can show to its person, who cannot be asked now. */
export type AbsentPerson = Pick<Person, 'opensPages'>;

/** How long a cell may still run. It stands still while a person is asked or a server is downloaded. */
export interface CellClock {
  readonly isHeld: boolean;
  leftMs(): number;
}

export interface CellRequest {
  readonly code: string;
  /** Names of configured servers to load, without duplicates. */
  readonly servers: readonly string[];
  readonly timeoutMs: number;
  readonly session: string;
  /** Aborts when the client cancels the request or disconnects. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: CellProgress) => void) | undefined;
  /** Gets each part of the output as it arrives, and how many bytes were left out before it. Must return quickly. */
  readonly onOutput?: ((stream: 'stdout' | 'stderr', text: string, droppedBytes: number) => void) | undefined;
  /** Gets the clock of the deadline when the cell begins. */
  readonly onClock?: ((clock: CellClock) => void) | undefined;
  /** Resolves when the client has room for another answer. The cell waits for this before it runs. */
  readonly untilRoom?: (() => Promise<void> | undefined) | undefined;
  /** The person to ask while the cell runs; undefined if the client cannot ask anyone. */
  readonly person?: Person | undefined;
  /** Whether the session begins without state: what it had, saved or not, is dropped before the cell runs. */
  readonly isFresh?: boolean | undefined;
  /** Set if the operator runs it over the local API; undefined for a client. */
  readonly ranBy?: 'operator' | undefined;
  /** Whether the client shows the answer as a view. The answer then has one. */
  readonly wantsView?: boolean | undefined;
}

export const CELL_STATUSES = ['success', 'error', 'timeout', 'cancelled', 'validation_error'] as const;
export type CellStatus = (typeof CELL_STATUSES)[number];

/**
 * Why a cell failed. Only the host sets a code: sandboxed code can raise, print and send anything, so no code is ever taken
 * from it (docs/internals/decisions/032-error-codes-of-cells.md).
 */
export interface CellError {
  /** Why the bridge ended or refused the cell, or refused the call that ended it; undefined if the code itself failed. */
  readonly code?: ErrorCode | undefined;
  /** What failed. For an exception, its text, which may be empty. */
  readonly message: string;
  /** One next step. */
  readonly hint?: string | undefined;
  /** The class name of the uncaught exception; undefined if none ended the cell. */
  readonly exception?: string | undefined;
  /** Where the exception was raised or the interrupt arrived, as Python prints it. */
  readonly traceback?: string | undefined;
}

export interface CellAnswer {
  readonly status: CellStatus;
  readonly stdout: OutputText;
  readonly stderr: OutputText;
  /** In the order the cell showed them. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** The number of the cell in its session; undefined if it did not run. */
  readonly cell?: number | undefined;
  /** The last expression as text. */
  readonly value?: string | undefined;
  readonly error?: CellError | undefined;
  readonly exitCode?: number | undefined;
  /** The servers loaded in the session. */
  readonly servers: readonly string[];
  readonly session: string;
  readonly timeoutSeconds: number;
  /** Sentences shown after everything else, under a heading, such as a report of lost state. */
  readonly notices: readonly string[];
  /** The engine of the session: in its first answer, and again if it has changed. */
  readonly engine?: EngineReport | undefined;
  /** If the client wants it and the cell has run. */
  readonly view?: CellView | undefined;
}

/** What a client gets: the answer of a cell that has ended, or of one that goes on, with what was printed since the answer before. */
export interface ShownAnswer extends Omit<CellAnswer, 'status'> {
  readonly status: CellStatus | 'running';
}

/** What a client shows to a person beside the answer, as it is sent. The model does not get it. Secrets are masked, and its size is limited. */
export interface CellView {
  readonly code: string;
  /** Length of the code in UTF-16 units; left out if it is complete. */
  readonly code_chars?: number;
  readonly duration_ms: number;
  /** The first ones, in the order in which they began. */
  readonly calls: readonly ViewedCall[];
  /** How many calls are not among them. */
  readonly calls_left_out: number;
}

/** A call of a cell in its view. */
export interface ViewedCall {
  readonly server: string;
  readonly tool: string;
  /** Counted from the start of the cell. */
  readonly start_ms: number;
  readonly duration_ms: number;
  /** `cancelled` if it had not ended when the cell did. */
  readonly status: 'ok' | 'error' | 'cancelled';
  readonly error_code?: string;
}

/** The engine that isolates a session. */
export interface EngineReport {
  readonly name: string;
  /** How it isolates code, in one short line. */
  readonly isolation: string;
  /** The engines that were preferred but could not be used, each with the reason in one clause. */
  readonly refused: readonly { readonly engine: string; readonly reason: string }[];
}

/** A stream with no output. */
export const NO_OUTPUT: OutputText = { head: '', droppedBytes: 0, droppedLines: 0, tail: '' };
