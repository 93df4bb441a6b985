/**
 * Why bubblewrap did not start a sandbox, read from its stderr, and the error with a next step for this machine. The patterns match
 * bubblewrap 0.8 (observed) and the errors of kernels that restrict user namespaces.
 */
import { BridgeError, type ErrorCode } from '../../../core/base/errors.ts';
import type { SandboxExit } from '../../../core/session/engine.ts';
import { describeExit, NO_ERROR_OUTPUT, summarizeStderr } from '../failed-process.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';

const OTHER_ENGINE = 'install Podman (https://podman.io/docs/installation)';

const FORBIDDEN =
  /creat\w+ new namespace|setting up [ug]id map|RTM_NEWADDR|can't mount proc|max_\S*_namespaces|pivot_root|make \/ slave/i;
/** Reported by the supervisor (`mounts.py`). */
const NO_MOUNTS = /a new mount namespace|with noexec|masking \/proc/;
const OLD = /unknown option (--[a-z-]+)/i;
const NO_PROGRAM = /execvp (\S+): /i;
/** Reported by prlimit, which starts programs. */
const NOT_EXECUTED = /prlimit: failed to execute/;

/**
 * The error for a sandbox that ended before anything ran in it: `ENGINE_UNAVAILABLE` or `ENGINE_FAILED`; for a program that this
 * machine does not have, `IMAGE_UNSUITABLE`. `program` is what the sandbox of a program runs.
 */
export function bubblewrapStartError(
  exit: SandboxExit,
  stderrTail: string,
  settings: NamespaceSettings,
  program?: string,
): BridgeError {
  const detail = summarizeStderr(stderrTail) || NO_ERROR_OUTPUT;
  const data = {
    engine: 'bubblewrap',
    exitCode: exit.exitCode,
    signal: exit.signal,
    stderr: detail,
    retryNow: false,
  };
  const error = (code: ErrorCode, message: string, hint: string) => new BridgeError(code, message, { data, hint });
  if (FORBIDDEN.test(stderrTail)) {
    return error('ENGINE_UNAVAILABLE', `bubblewrap may not create namespaces: ${detail}`, namespaceHint(settings));
  }
  if (NO_MOUNTS.test(stderrTail)) {
    const hint = `Allow programs in bwrap to mount (AppArmor's profile bwrap-userns-restrict forbids it), or ${OTHER_ENGINE}.`;
    return error('ENGINE_UNAVAILABLE', `bubblewrap cannot restrict its scratch space: ${detail}`, hint);
  }
  if (OLD.test(stderrTail)) {
    return error('ENGINE_UNAVAILABLE', `bubblewrap is too old: ${detail}`, 'Install bubblewrap 0.8 or newer.');
  }
  if (program !== undefined && (NO_PROGRAM.test(stderrTail) || NOT_EXECUTED.test(stderrTail))) {
    const hint = `Install it where the user of the sandbox can run it, or ${OTHER_ENGINE}.`;
    return error('IMAGE_UNSUITABLE', `bubblewrap cannot run ${program}: ${detail}`, hint);
  }
  if (NO_PROGRAM.test(stderrTail)) {
    const hint = `Install Python 3.10 or newer as /usr/bin/python3, or ${OTHER_ENGINE}.`;
    return error('ENGINE_UNAVAILABLE', `bubblewrap cannot run python3: ${detail}`, hint);
  }
  const hint = 'Check that this works: bwrap --unshare-all --ro-bind / / true';
  return error('ENGINE_FAILED', `bubblewrap did not start the sandbox (${describeExit(exit)}): ${detail}`, hint);
}

/** One step, for the setting that forbids namespaces on this machine if it is known. */
function namespaceHint(settings: NamespaceSettings): string {
  if (settings.isInContainer) {
    return `The bridge runs in a container that forbids user namespaces: allow them there, or ${OTHER_ENGINE} outside.`;
  }
  if (settings.unprivilegedClone === '0') {
    return 'Run: sudo sysctl -w kernel.unprivileged_userns_clone=1';
  }
  if (settings.maxNamespaces === '0') {
    return 'Run: sudo sysctl -w user.max_user_namespaces=15000';
  }
  if (settings.appArmorRestricts === '1') {
    return `AppArmor forbids user namespaces without a profile: add a profile for bwrap that allows "userns", or ${OTHER_ENGINE}.`;
  }
  return `Allow this user to create user namespaces, or ${OTHER_ENGINE}.`;
}
