/** How error messages quote a process that failed: the end of its stderr on one line, and its exit code or signal. */
import type { SandboxExit } from '../../core/session/engine.ts';

/** Longest quotation, in characters. */
const MAX_QUOTED_CHARS = 600;
/** Quoted if the process printed nothing. */
export const NO_ERROR_OUTPUT = 'no error output';

/**
 * The end of `stderr` on one line, cut at the front if it is too long and without its final punctuation; empty if nothing remains. `prefix` is removed from each
 * line, and lines that match `noise` are left out.
 */
export function summarizeStderr(
  stderr: string,
  { noise, prefix = '' }: { readonly noise?: RegExp; readonly prefix?: RegExp | string } = {},
): string {
  const text = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim().replace(prefix, ''))
    .filter((line) => line !== '' && noise?.test(line) !== true)
    .join(' ');
  const quoted = text.length > MAX_QUOTED_CHARS ? `…${text.slice(-MAX_QUOTED_CHARS)}` : text;
  return quoted.replace(/[.?!]+$/, '');
}

/** `exit code 1` or `signal SIGKILL`. */
export function describeExit({ exitCode, signal }: SandboxExit): string {
  return signal === undefined ? `exit code ${exitCode}` : `signal ${signal}`;
}

const MISSING_PROGRAM =
  /exec: "([^"]+)": (?:executable file not found|stat \S+ no such file)|executable file [`'"]([^`'"]+)[`'"] not found/i;

/** The program that a container runtime or an engine was to run and did not find, as it names it; undefined if that is not why it failed. */
export function missingProgram(stderr: string): string | undefined {
  const [, ofGo, ofCrun] = MISSING_PROGRAM.exec(stderr) ?? [];
  return ofGo ?? ofCrun;
}
