/** Counts what passes through a model while it does one task. Tokens are of o200k_base. */
import { countTokens, tokensOf } from '../comparison/tokens.ts';

/** What one task took in one mode. */
export interface TaskEffort {
  /** Answers of the model, including the last one, which states the result. */
  readonly turns: number;
  /** Tokens that the model wrote: calls or code, and the final answer. */
  readonly written: number;
  /** Tokens of the tools' answers, each counted once. */
  readonly read: number;
  /** Tokens that the model was sent over all turns: definitions, task and everything before, again in each turn. */
  readonly context: number;
  /** From the task to the final answer. */
  readonly ms: number;
  /** The part of it in which calls or cells ran. */
  readonly callMs: number;
}

/** A call or cell that ended with an error. */
export interface FailedCall {
  /** 1 for the first call of the task. */
  readonly number: number;
  readonly name: string;
  readonly arguments: unknown;
  readonly error: string;
}

/** Ends a call with the text of its answer. */
export type EndCall = (answer: { readonly text: string; readonly isError: boolean }, atMs: number) => void;

export interface Transcript {
  /** The model gets the task. Times are in milliseconds since the epoch. */
  start(atMs: number): void;
  /** Tokens of the tools' definitions and the servers' instructions. Counted in each turn. */
  define(tokens: number): void;
  /** A call begins. It belongs to a new turn if no other call is running. */
  begin(name: string, args: unknown, atMs: number): EndCall;
  /** How many calls began, and those that failed. */
  calls(): { readonly count: number; readonly failed: readonly FailedCall[] };
  finish(answer: string, atMs: number): TaskEffort;
}

export function createTranscript(prompt: string): Transcript {
  const turns: { written: number; read: number }[] = [];
  let startedAtMs = Date.now();
  let definitions = 0;
  let running = 0;
  let turnStartedAtMs = 0;
  let callMs = 0;
  let count = 0;
  const failed: FailedCall[] = [];
  return {
    start(atMs) {
      startedAtMs = atMs;
    },
    define(tokens) {
      definitions += tokens;
    },
    begin(name, args, atMs) {
      if (running === 0) {
        turns.push({ written: 0, read: 0 });
        turnStartedAtMs = atMs;
      }
      running += 1;
      count += 1;
      const number = count;
      const turn = turns.at(-1);
      if (turn !== undefined) {
        turn.written += tokensOf({ name, arguments: args });
      }
      return ({ isError, text }, endedAtMs) => {
        running -= 1;
        if (turn !== undefined) {
          turn.read += countTokens(text);
        }
        if (running === 0) {
          callMs += endedAtMs - turnStartedAtMs;
        }
        if (isError) {
          failed.push({ number, name, arguments: args, error: text });
        }
      };
    },
    calls: () => ({ count, failed: failed.toSorted((a, b) => a.number - b.number) }),
    finish(answer, atMs) {
      let before = definitions + countTokens(prompt);
      let context = before;
      for (const { written, read } of turns) {
        before += written + read;
        context += before;
      }
      return {
        turns: turns.length + 1,
        written: turns.reduce((sum, { written }) => sum + written, 0) + countTokens(answer),
        read: turns.reduce((sum, { read }) => sum + read, 0),
        context,
        ms: atMs - startedAtMs,
        callMs,
      };
    },
  };
}
