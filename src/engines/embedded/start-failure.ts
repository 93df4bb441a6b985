/** Why the child did not start, as an error with a next step. */
import { BridgeError, type ErrorCode } from '../../base/errors.ts';
import type { SandboxExit } from '../engine.ts';

/** What is known of a start that failed. */
export interface FailedChild {
  readonly exit: SandboxExit;
  readonly stderrTail: string;
  /** What is wrong with the built files. */
  readonly fault?: string | undefined;
  /** How long it had been silent when it was ended, in ms; undefined when it ended by itself. */
  readonly silentMs?: number | undefined;
}

const MAX_QUOTED_CHARS = 400;
const REPAIR_HINT = 'Install mcp-server-code-execution-mode again; in a checkout, run: npm run build';

/** `ENGINE_UNAVAILABLE` when it cannot run here, `ENGINE_FAILED` for anything else. */
export function embeddedStartError({ exit, fault, silentMs, stderrTail }: FailedChild, retryNow: boolean): BridgeError {
  const words = stderrTail.trim().slice(-MAX_QUOTED_CHARS).trim() || 'it said nothing';
  const data = { engine: 'embedded', exitCode: exit.exitCode, signal: exit.signal, stderr: words, retryNow };
  const error = (code: ErrorCode, message: string, hint: string) => new BridgeError(code, message, { data, hint });
  if (fault !== undefined) {
    return error('ENGINE_UNAVAILABLE', `the files of the embedded engine are damaged: ${fault}`, REPAIR_HINT);
  }
  if (silentMs !== undefined) {
    const message = `the embedded engine said nothing for ${silentMs / 1000} s and was ended: ${words}`;
    return error('ENGINE_FAILED', message, 'The machine may be overloaded; try again.');
  }
  if (/WebAssembly is not defined|no WebAssembly/.test(stderrTail)) {
    const message = `the embedded engine needs WebAssembly, which Node ${process.versions.node} does not offer here`;
    return error('ENGINE_UNAVAILABLE', message, 'Use a Node with WebAssembly (20.19 or newer, without --jitless).');
  }
  if (/memory are too few/.test(stderrTail)) {
    return error('ENGINE_FAILED', `the embedded engine did not start: ${words}`, 'Raise MCP_BRIDGE_MEMORY.');
  }
  if (/WebAssembly\.Memory|could not allocate memory/.test(stderrTail)) {
    const message = `the embedded engine could not get its memory: ${words}`;
    return error('ENGINE_FAILED', message, 'Lower MCP_BRIDGE_MEMORY, or free memory on this machine.');
  }
  const how = exit.signal === undefined ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
  return error('ENGINE_FAILED', `the embedded engine did not start (${how}): ${words}`, REPAIR_HINT);
}

/** The error for files that were never built or are gone. */
export function missingFiles(folder: string): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', `the embedded engine has no files in ${folder}`, {
    hint: REPAIR_HINT,
    data: { engine: 'embedded', retryNow: false },
  });
}

/** The error for folders of the host that a user wants to see: files exist in memory only. */
export function noMounts(): BridgeError {
  return new BridgeError('ENGINE_UNAVAILABLE', 'the embedded engine cannot show folders of the host', {
    hint: 'Unset MCP_BRIDGE_MOUNTS, or install Podman (https://podman.io/docs/installation).',
    data: { engine: 'embedded', retryNow: false },
  });
}
