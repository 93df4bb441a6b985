/**
 * Why a container did not start, read from the exit code and stderr of the engine's command, and the error that a person or a
 * model gets. Pure functions. The patterns match podman 4.3 and docker 20.10 to 28 (observed), and podman 5 (from its sources).
 */
import { basename } from 'node:path/posix';
import { BridgeError, type ErrorCode } from '../../../core/base/errors.ts';
import type { EngineName, SandboxExit } from '../../../core/session/engine.ts';
import { describeExit, missingProgram, NO_ERROR_OUTPUT, summarizeStderr } from '../failed-process.ts';
import { DESCRIPTOR_FLAG, OMITTABLE_FLAGS } from './argv.ts';

/** `detail` is what the engine said, shortened. */
export type StartFailure =
  | {
      readonly kind:
        | 'image-missing'
        | 'python-missing'
        | 'mount-missing'
        | 'network-failed'
        | 'unreachable'
        | 'forbidden'
        | 'other';
      readonly detail: string;
    }
  /** A program on the engine's own machine is missing. */
  | { readonly kind: 'helper-missing'; readonly detail: string; readonly helper: string }
  /** The engine refuses `flags`, all of which can be omitted. */
  | { readonly kind: 'flags-refused'; readonly detail: string; readonly flags: readonly string[] };

/** What the error messages name. */
export interface StartErrorContext {
  readonly engine: EngineName;
  readonly image: string;
  /** The command that a program starts with; undefined for a session. */
  readonly program?: string | undefined;
  /** The exact command that pulls the image. */
  readonly pullCommand: string;
  readonly unreachableHint: string;
  readonly forbiddenHint: string;
  /** Becomes `data.retryNow`: whether the caller should run `prepare` and `start` again at once. */
  readonly retryNow: boolean;
}

const IMAGE_MISSING = /image not known|no such image|unable to find image|did not resolve to an alias/i;
/** Programs that podman and docker start, by the packages of Debian and Fedora that have them. */
const PACKAGE_OF_HELPER: Readonly<Record<string, string>> = {
  slirp4netns: 'slirp4netns',
  pasta: 'passt',
  netavark: 'netavark',
  'aardvark-dns': 'aardvark-dns',
  bridge: 'containernetworking-plugins',
  conmon: 'conmon',
  crun: 'crun',
  runc: 'runc',
  newuidmap: 'uidmap',
  newgidmap: 'uidmap',
  'fuse-overlayfs': 'fuse-overlayfs',
  iptables: 'iptables',
  nft: 'nftables',
};
/** Only containers with a network of their own need them, and of ours only builders have one. */
const NETWORK_HELPERS: ReadonlySet<string> = new Set(['slirp4netns', 'pasta']);
/** What podman and docker say if they cannot set up the network of a container. */
const NETWORK_FAILED =
  /\/dev\/net\/tun|(?:slirp4netns|pasta) failed|netavark: |plugin type="[\w-]+" failed|failed to create endpoint|failed to set up container networking/i;
/** podman says this without `exec:` about what it looks for in folders of its own. */
const HELPER_MISSING =
  /could not find (?:a working )?"?([\w.-]+)"?(?: binary)?(?: in one of|,? \(configured options|, the network)|OCI runtime "([\w./-]+)" not found|failed to find plugin "([\w.-]+)"/i;
/** podman 4 and 5, docker, and Docker Desktop for a folder that is not shared with its virtual machine. */
const MOUNT_MISSING =
  /statfs .*: no such file or directory|bind source path does not exist|mounts denied|is not shared from the host/i;
const FORBIDDEN =
  /permission denied while trying to connect|dial unix \S+: connect: permission denied|open \/\/\.\/pipe\/\S+: access is denied/i;
const UNREACHABLE =
  /cannot connect to (the docker daemon|podman)|failed to connect to the docker api|unable to connect to podman|error during connect|is the docker daemon running|connection refused/i;
const UNKNOWN_FLAG = /unknown flag: (--[a-z-]+)|"(--[a-z-]+)" requires API version/i;
/** podman or its runtime does not know the flag, or the loader did not get the descriptor: SELinux may forbid it. */
const NO_DESCRIPTOR = /preserve-fds|descriptor 3 was not passed on/;
/** For example ``the requested cgroup controller `cpu` is not available``. */
const NO_CONTROLLER = /controller [`'"]?(cpu|memory|pids)[`'"]? (?:is )?not (?:available|enabled|delegated|found)/i;
const FLAGS_OF_CONTROLLER: Readonly<Record<string, readonly string[]>> = {
  cpu: ['--cpus'],
  memory: ['--memory', '--memory-swap'],
  pids: ['--pids-limit'],
};
const HOST_NETWORK = 'MCP_BRIDGE_PACKAGES_NETWORK=host';
const HOST_REMEDY = 'so that it uses the network of this machine.';
const TUN = '/dev/net/tun';
const TUN_REMEDY = `${HOST_REMEDY.slice(0, -1)}, or let this user open ${TUN} (sudo modprobe tun; sudo chmod 666 ${TUN}).`;
const ADVICE = /^(?:Run|See) '\w+ run --help'|^Usage:/;
const MOUNT_HINT =
  'If the engine runs in a virtual machine, share the folder with it: for Podman, ' +
  '"podman machine init --volume FOLDER:FOLDER"; for Docker Desktop, Settings, Resources, File sharing.';

/** Sorts a failed start by its remedy. `program` is what the sandbox was to run. */
export function classifyStartFailure(exit: SandboxExit, stderrTail: string, program = 'python3'): StartFailure {
  const detail = summarizeStderr(stderrTail, { noise: ADVICE, prefix: /^(?:Error|docker): / }) || NO_ERROR_OUTPUT;
  const flags = refusedFlags(stderrTail);
  if (flags.length > 0) {
    return { kind: 'flags-refused', detail, flags };
  }
  if (IMAGE_MISSING.test(stderrTail)) {
    return { kind: 'image-missing', detail };
  }
  const missing = missingProgram(stderrTail);
  if (missing === program) {
    return { kind: 'python-missing', detail };
  }
  const helper =
    missing ??
    HELPER_MISSING.exec(stderrTail)
      ?.slice(1)
      .find((name) => name !== undefined);
  if (helper !== undefined) {
    return { kind: 'helper-missing', detail, helper: basename(helper) };
  }
  if (NETWORK_FAILED.test(stderrTail)) {
    return { kind: 'network-failed', detail };
  }
  if (MOUNT_MISSING.test(stderrTail)) {
    return { kind: 'mount-missing', detail };
  }
  if (FORBIDDEN.test(stderrTail)) {
    return { kind: 'forbidden', detail };
  }
  return { kind: UNREACHABLE.test(stderrTail) ? 'unreachable' : 'other', detail };
}

/**
 * The flags to omit from the next start. One unknown flag means all omittable flags except limits, because an engine that lacks
 * one flag is old and lacks others.
 */
function refusedFlags(stderrTail: string): readonly string[] {
  const [, ofClient, ofDaemon] = UNKNOWN_FLAG.exec(stderrTail) ?? [];
  const unknown = ofClient ?? ofDaemon;
  if (unknown === DESCRIPTOR_FLAG || (unknown === undefined && NO_DESCRIPTOR.test(stderrTail))) {
    return [DESCRIPTOR_FLAG]; // Not because podman is old.
  }
  if (unknown !== undefined && Object.hasOwn(OMITTABLE_FLAGS, unknown)) {
    const limits = new Set(Object.values(FLAGS_OF_CONTROLLER).flat());
    return Object.keys(OMITTABLE_FLAGS).filter((flag) => flag === unknown || !limits.has(flag));
  }
  const controller = NO_CONTROLLER.exec(stderrTail)?.[1]?.toLowerCase();
  return controller === undefined ? [] : (FLAGS_OF_CONTROLLER[controller] ?? []);
}

/** The error for `failure`: `IMAGE_MISSING`, `IMAGE_UNSUITABLE`, `ENGINE_UNAVAILABLE` or `ENGINE_FAILED`. */
export function startError(failure: StartFailure, exit: SandboxExit, context: StartErrorContext): BridgeError {
  const { engine, image, pullCommand, retryNow } = context;
  const { detail } = failure;
  const { exitCode, signal } = exit;
  const data = { engine, exitCode, signal, stderr: detail, retryNow };
  const error = (code: ErrorCode, message: string, hint: string) => new BridgeError(code, message, { data, hint });
  switch (failure.kind) {
    case 'image-missing':
      return new BridgeError('IMAGE_MISSING', `the image ${image} is not on this machine (${engine})`, {
        data: { ...data, image, pullCommand },
        hint: `Run: ${pullCommand}`,
      });
    case 'python-missing':
      if (context.program !== undefined) {
        const hint = 'Name an image that has it in languages.json of the state directory.';
        return error('IMAGE_UNSUITABLE', `the image ${image} has no ${context.program} on its PATH: ${detail}`, hint);
      }
      return error(
        'IMAGE_UNSUITABLE',
        `the image ${image} has no python3 on its PATH: ${detail}`,
        'Set MCP_BRIDGE_IMAGE to an image with Python 3.10 or newer, for example python:3.14-slim.',
      );
    case 'helper-missing': {
      const message = `${engine} needs ${failure.helper}, which this machine lacks: ${detail}`;
      return error('ENGINE_FAILED', message, helperRemedy(failure.helper));
    }
    case 'network-failed': {
      const message = `${engine} cannot give the sandbox that fetches packages a network of its own: ${detail}`;
      return error('ENGINE_FAILED', message, `Set ${HOST_NETWORK}, ${detail.includes(TUN) ? TUN_REMEDY : HOST_REMEDY}`);
    }
    case 'mount-missing':
      return error('ENGINE_FAILED', `${engine} cannot see a folder of MCP_BRIDGE_MOUNTS: ${detail}`, MOUNT_HINT);
    case 'forbidden':
      return error('ENGINE_UNAVAILABLE', `${engine} refused this user: ${detail}`, context.forbiddenHint);
    case 'unreachable':
      return error('ENGINE_UNAVAILABLE', `${engine} does not answer: ${detail}`, context.unreachableHint);
    case 'flags-refused': {
      const hint = `Update ${engine}, or set MCP_BRIDGE_RUNTIME to another engine.`;
      return error('ENGINE_FAILED', `${engine} refused to start the sandbox: ${detail}`, hint);
    }
    case 'other': {
      const hint = `Check that this works: ${engine} run --rm ${image} python3 --version`;
      return error('ENGINE_FAILED', `${engine} did not start the sandbox (${describeExit(exit)}): ${detail}`, hint);
    }
  }
}

function helperRemedy(helper: string): string {
  const name = PACKAGE_OF_HELPER[helper];
  const what = name === undefined ? helper : `the package ${name} (sudo apt install ${name})`;
  return `Install ${what}${NETWORK_HELPERS.has(helper) ? `, or set ${HOST_NETWORK}` : ''}.`;
}
