/**
 * What bubblewrap's last words mean when a sandbox did not start: the error, with the step that mends it on this
 * machine. The texts are those of bubblewrap 0.8 (measured), and of the kernels that restrict user namespaces.
 */
import { BridgeError, type ErrorCode } from '../../base/errors.ts';
import type { SandboxExit } from '../engine.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';

/** Last words quoted in a message, in characters. */
const MAX_QUOTED_CHARS = 600;
const OTHER_ENGINE = 'install Podman (https://podman.io/docs/installation)';

const FORBIDDEN =
  /creat\w+ new namespace|setting up [ug]id map|RTM_NEWADDR|can't mount proc|max_\S*_namespaces|pivot_root|make \/ slave/i;
const OLD = /unknown option (--[a-z-]+)/i;
const NO_PROGRAM = /execvp (\S+): /i;

/** The error for a sandbox that ended before anything ran in it: `ENGINE_UNAVAILABLE` or `ENGINE_FAILED`. */
export function bubblewrapStartError(exit: SandboxExit, stderrTail: string, settings: NamespaceSettings): BridgeError {
  const words = lastWords(stderrTail);
  const data = {
    engine: 'bubblewrap',
    exitCode: exit.exitCode,
    signal: exit.signal,
    stderr: words,
    retryNow: false,
  };
  const error = (code: ErrorCode, message: string, hint: string) => new BridgeError(code, message, { data, hint });
  if (FORBIDDEN.test(stderrTail)) {
    return error('ENGINE_UNAVAILABLE', `bubblewrap may not make namespaces here: ${words}`, namespaceHint(settings));
  }
  if (OLD.test(stderrTail)) {
    return error('ENGINE_UNAVAILABLE', `bubblewrap is too old: ${words}`, 'Install bubblewrap 0.8 or newer.');
  }
  if (NO_PROGRAM.test(stderrTail)) {
    const hint = `Put a Python 3.10 or newer in /usr/bin/python3, or ${OTHER_ENGINE}.`;
    return error('ENGINE_UNAVAILABLE', `python3 cannot be run in bubblewrap: ${words}`, hint);
  }
  const how = exit.signal === undefined ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
  const hint = 'Check that this works: bwrap --unshare-all --ro-bind / / true';
  return error('ENGINE_FAILED', `bubblewrap did not start the sandbox (${how}): ${words}`, hint);
}

/** One step; the switch that is off on this machine, if it can be told. */
function namespaceHint(settings: NamespaceSettings): string {
  if (settings.isInContainer) {
    return `This is a container, whose engine forbids it: ${OTHER_ENGINE} outside, or let this container make user namespaces.`;
  }
  if (settings.unprivilegedClone === '0') {
    return 'Run: sudo sysctl -w kernel.unprivileged_userns_clone=1';
  }
  if (settings.maxNamespaces === '0') {
    return 'Run: sudo sysctl -w user.max_user_namespaces=15000';
  }
  if (settings.appArmorRestricts === '1') {
    return `AppArmor keeps programs without a profile from it: add one for bwrap that allows "userns", or ${OTHER_ENGINE}.`;
  }
  return `Let this user make user namespaces, or ${OTHER_ENGINE}.`;
}

function lastWords(stderrTail: string): string {
  const text = stderrTail
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');
  return text === '' ? 'it said nothing' : text.slice(-MAX_QUOTED_CHARS);
}
