/** Why the child of the embedded engine did not start, as an error with a next step. */
import { BridgeError, type ErrorCode } from '../../../core/base/errors.ts';
import type { SandboxExit } from '../../../core/session/engine.ts';
import { describeExit, NO_ERROR_OUTPUT, summarizeStderr } from '../failed-process.ts';

/** What is known about a failed start. */
export interface FailedChild {
  readonly exit: SandboxExit;
  readonly stderrTail: string;
  /** What is wrong with the built files, if anything. */
  readonly fault?: string | undefined;
  /** How long the child had printed nothing when it was killed; undefined if it ended by itself. */
  readonly silentMs?: number | undefined;
}

const REPAIR_HINT = 'Install mcp-server-code-execution-mode again; in a checkout, run: npm run build';

/** `ENGINE_UNAVAILABLE` if the engine cannot run on this machine, `ENGINE_FAILED` for anything else. */
export function embeddedStartError({ exit, fault, silentMs, stderrTail }: FailedChild, retryNow: boolean): BridgeError {
  const detail = summarizeStderr(stderrTail) || NO_ERROR_OUTPUT;
  const data = { engine: 'embedded', exitCode: exit.exitCode, signal: exit.signal, stderr: detail, retryNow };
  const error = (code: ErrorCode, message: string, hint: string) => new BridgeError(code, message, { data, hint });
  if (fault !== undefined) {
    return error('ENGINE_UNAVAILABLE', `the files of the embedded engine are damaged: ${fault}`, REPAIR_HINT);
  }
  if (silentMs !== undefined) {
    const message = `the embedded engine did not respond for ${silentMs / 1000} s and was killed: ${detail}`;
    return error('ENGINE_FAILED', message, 'The machine may be overloaded; try again.');
  }
  if (/WebAssembly is not defined|no WebAssembly/.test(stderrTail)) {
    const message = `the embedded engine needs WebAssembly, which Node ${process.versions.node} does not offer here`;
    return error('ENGINE_UNAVAILABLE', message, 'Use a Node with WebAssembly (20.19 or newer, without --jitless).');
  }
  if (/memory limit of \d+ bytes is too low/.test(stderrTail)) {
    return error('ENGINE_FAILED', `the embedded engine did not start: ${detail}`, 'Raise MCP_BRIDGE_MEMORY.');
  }
  if (/WebAssembly\.Memory|could not allocate memory/.test(stderrTail)) {
    const message = `the embedded engine could not allocate its memory: ${detail}`;
    return error('ENGINE_FAILED', message, 'Lower MCP_BRIDGE_MEMORY, or free memory on this machine.');
  }
  return error('ENGINE_FAILED', `the embedded engine did not start (${describeExit(exit)}): ${detail}`, REPAIR_HINT);
}

/** The error if the files were never built or have been removed. */
export function missingFiles(folder: string): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', `the files of the embedded engine are not in ${folder}`, {
    hint: REPAIR_HINT,
    data: { engine: 'embedded', retryNow: false },
  });
}

/** The error if the user wants host folders in the sandbox, where files exist only in memory. */
export function noMounts(): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', 'the embedded engine cannot mount host folders', {
    hint: 'Unset MCP_BRIDGE_MOUNTS, or install Podman (https://podman.io/docs/installation).',
    data: { engine: 'embedded', retryNow: false },
  });
}
