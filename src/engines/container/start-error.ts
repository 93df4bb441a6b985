/** Words a failed start as an error with a next step: the texts a person or a model reads when no sandbox came up. */
import { BridgeError } from '../../base/errors.ts';
import type { EngineName, SandboxExit } from '../engine.ts';
import type { StartFailure } from './start-failure.ts';

/** What the texts name. */
export interface StartErrorContext {
  readonly engine: EngineName;
  readonly image: string;
  /** The exact command that would bring the image. */
  readonly pullCommand: string;
  readonly unreachableHint: string;
  readonly forbiddenHint: string;
  /** Whether another round of `prepare` and `start` is worth while, becomes `data.retryNow`. */
  readonly retryNow: boolean;
}

const MOUNT_HINT =
  'Where the engine runs in a virtual machine, the folder must be shared with it: for Podman, ' +
  '"podman machine init --volume FOLDER:FOLDER"; for Docker Desktop, Settings, Resources, File sharing.';

/** The error for `failure`: `IMAGE_MISSING`, `IMAGE_UNSUITABLE`, `ENGINE_UNAVAILABLE` or `ENGINE_FAILED`. */
export function startError(failure: StartFailure, exit: SandboxExit, context: StartErrorContext): BridgeError {
  const { engine, image } = context;
  const data = {
    engine,
    exitCode: exit.exitCode,
    signal: exit.signal,
    stderr: failure.words,
    retryNow: context.retryNow,
  };
  switch (failure.kind) {
    case 'image-missing':
      return new BridgeError('IMAGE_MISSING', `the image ${image} is not on this machine (${engine})`, {
        data: { ...data, image, pullCommand: context.pullCommand },
        hint: `Run: ${context.pullCommand}`,
      });
    case 'python-missing':
      return new BridgeError('IMAGE_UNSUITABLE', `the image ${image} has no python3 on its PATH: ${failure.words}`, {
        data,
        hint: 'Set MCP_BRIDGE_IMAGE to an image with Python 3.10 or newer, for example python:3.14-slim.',
      });
    case 'mount-missing':
      return new BridgeError('ENGINE_FAILED', `${engine} cannot see a folder of MCP_BRIDGE_MOUNTS: ${failure.words}`, {
        data,
        hint: MOUNT_HINT,
      });
    case 'forbidden':
      return new BridgeError('ENGINE_UNAVAILABLE', `${engine} refused this user: ${failure.words}`, {
        data,
        hint: context.forbiddenHint,
      });
    case 'unreachable':
      return new BridgeError('ENGINE_UNAVAILABLE', `${engine} does not answer: ${failure.words}`, {
        data,
        hint: context.unreachableHint,
      });
    case 'flags-refused':
      return new BridgeError('ENGINE_FAILED', `${engine} refused to start the sandbox: ${failure.words}`, {
        data,
        hint: `Update ${engine}, or set MCP_BRIDGE_RUNTIME to another engine.`,
      });
    default:
      return unexplained(failure, exit, context, data);
  }
}

function unexplained(
  failure: StartFailure,
  exit: SandboxExit,
  { engine, image }: StartErrorContext,
  data: Readonly<Record<string, unknown>>,
): BridgeError {
  return new BridgeError('ENGINE_FAILED', `${engine} did not start the sandbox (${howEnded(exit)}): ${failure.words}`, {
    data,
    hint: `Check that this works: ${engine} run --rm ${image} python3 --version`,
  });
}

function howEnded(exit: SandboxExit): string {
  return exit.signal === undefined ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
}
