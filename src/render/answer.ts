/** What the renderer reads of an answer. Sessions make such answers, but rendering knows nothing of sessions. */

/** Name of the session when the client names none; too common to be worth showing. */
export const DEFAULT_SESSION = 'default';

/** One stream: its start, what was left out behind it, and its end. */
export interface RenderableOutput {
  readonly head: string;
  /** Bytes left out between `head` and `tail`; 0 when nothing is missing. */
  readonly droppedBytes: number;
  /** Line ends among the bytes left out. */
  readonly droppedLines: number;
  readonly tail: string;
}

export interface RenderableAnswer {
  readonly status: 'success' | 'error' | 'timeout' | 'cancelled' | 'validation_error';
  readonly stdout: RenderableOutput;
  readonly stderr: RenderableOutput;
  /** Text of the last expression. */
  readonly value?: string | undefined;
  /** A traceback, or `CODE: message` with `Hint: …` on its own line. */
  readonly error?: string | undefined;
  readonly exitCode?: number | undefined;
  readonly servers: readonly string[];
  readonly session: string;
  readonly timeoutSeconds: number;
  /** Sentences shown before everything else. */
  readonly notices: readonly string[];
  readonly engine?: string | undefined;
}
