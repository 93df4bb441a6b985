/**
 * What the engine's last words mean when a sandbox did not start: a pure function of exit code and stderr. The texts are
 * those of podman 4.3 and docker 20.10 … 28 (measured), and of podman 5 (from its sources).
 */

import type { SandboxExit } from '../engine.ts';
import { OMITTABLE_FLAGS } from './argv.ts';

export type StartFailure =
  | {
      readonly kind: 'image-missing' | 'python-missing' | 'mount-missing' | 'unreachable' | 'forbidden' | 'other';
      readonly words: string;
    }
  /** The engine does not take `flags`, all of which a start may do without. */
  | { readonly kind: 'flags-refused'; readonly words: string; readonly flags: readonly string[] };

/** Last words quoted in a message, in characters. */
const MAX_QUOTED_CHARS = 600;

const IMAGE_MISSING = /image not known|no such image|unable to find image|did not resolve to an alias/i;
const PROGRAM_MISSING = /executable file.* not found in \$PATH|exec: "[^"]*": stat .* no such file/i;
/** podman 4 and 5, docker, Docker Desktop (a folder that is not shared with its virtual machine). */
const MOUNT_MISSING =
  /statfs .*: no such file or directory|bind source path does not exist|mounts denied|is not shared from the host/i;
const FORBIDDEN =
  /permission denied while trying to connect|dial unix \S+: connect: permission denied|open \/\/\.\/pipe\/\S+: access is denied/i;
const UNREACHABLE =
  /cannot connect to (the docker daemon|podman)|failed to connect to the docker api|unable to connect to podman|error during connect|is the docker daemon running|connection refused/i;
const UNKNOWN_FLAG = /unknown flag: (--[a-z-]+)|"(--[a-z-]+)" requires API version/i;
/** For example ``the requested cgroup controller `cpu` is not available``. */
const NO_CONTROLLER = /controller [`'"]?(cpu|memory|pids)[`'"]? (?:is )?not (?:available|enabled|delegated|found)/i;
const FLAGS_OF_CONTROLLER: Readonly<Record<string, readonly string[]>> = {
  cpu: ['--cpus'],
  memory: ['--memory', '--memory-swap'],
  pids: ['--pids-limit'],
};

/** Sorts a failed start by what can be done about it; `words` is what the engine said, shortened. */
export function classifyStartFailure(exit: SandboxExit, stderrTail: string): StartFailure {
  const words = lastWords(stderrTail);
  const flags = refusedFlags(stderrTail);
  if (flags.length > 0) {
    return { kind: 'flags-refused', words, flags };
  }
  if (IMAGE_MISSING.test(stderrTail)) {
    return { kind: 'image-missing', words };
  }
  if ((exit.exitCode === 127 || exit.exitCode === 126) && PROGRAM_MISSING.test(stderrTail)) {
    return { kind: 'python-missing', words };
  }
  if (MOUNT_MISSING.test(stderrTail)) {
    return { kind: 'mount-missing', words };
  }
  if (FORBIDDEN.test(stderrTail)) {
    return { kind: 'forbidden', words };
  }
  return { kind: UNREACHABLE.test(stderrTail) ? 'unreachable' : 'other', words };
}

/** After one unknown flag all flags that can be left out are: an engine that lacks one is old and lacks more. */
function refusedFlags(stderrTail: string): readonly string[] {
  const [, ofClient, ofDaemon] = UNKNOWN_FLAG.exec(stderrTail) ?? [];
  const unknown = ofClient ?? ofDaemon;
  if (unknown !== undefined && Object.hasOwn(OMITTABLE_FLAGS, unknown)) {
    const limits = new Set(Object.values(FLAGS_OF_CONTROLLER).flat());
    return Object.keys(OMITTABLE_FLAGS).filter((flag) => flag === unknown || !limits.has(flag));
  }
  const controller = NO_CONTROLLER.exec(stderrTail)?.[1]?.toLowerCase();
  return controller === undefined ? [] : (FLAGS_OF_CONTROLLER[controller] ?? []);
}

/** The engine's text in one line: without its own name and its advice to read a manual, cut from the front when long. */
function lastWords(stderrTail: string): string {
  const lines = stderrTail
    .split('\n')
    .map((line) => line.trim().replace(/^(Error|docker): /, ''))
    .filter((line) => line !== '' && !/^(Run|See) '\w+ run --help'/.test(line) && !line.startsWith('Usage:'));
  const text = lines.length === 0 ? 'it said nothing' : lines.join(' ');
  return text.length > MAX_QUOTED_CHARS ? `…${text.slice(-MAX_QUOTED_CHARS)}` : text;
}
