/** A program that embeds a library: it takes a line of JSON and answers with one, `{"answer": …}` or `{"error": "…"}`, until stdin ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Program } from './mcp-program.ts';

export interface LineHost {
  /** Rejects with what the program answers as its error. */
  ask(request: object): Promise<unknown>;
  close(): Promise<void>;
}

/** It has this long to end by itself. */
const PATIENCE_MS = 5_000;

export function openHost({ command, args = [], cwd, env }: Program): LineHost {
  const child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  child.stdin.on('error', () => undefined); // It has ended, which the end of its answers shows.
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await lines.next();
      if (done === true) {
        throw new Error(`${command} ended`);
      }
      const { answer, error } = JSON.parse(value) as { answer?: unknown; error?: string };
      if (error !== undefined) {
        throw new Error(error);
      }
      return answer;
    },
    async close() {
      child.stdin.end();
      const impatient = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
      await ended;
      clearTimeout(impatient);
    },
  };
}
