/** Lists, pulls, builds and removes images with podman or docker. The engine's output and progress bars go straight to stderr. */

import { spawn } from 'node:child_process';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { CONTAINER_ENGINE_NAMES } from '../../core/session/engine.ts';
import { type EngineCommand, runEngineCommand } from '../../edges/engines/client.ts';
import { clientEnvironment, type Environment } from '../../edges/engines/client-env.ts';
import { hintOfImageFailure, type ImageWork, lastWordsOf } from '../../edges/engines/container/image-failure.ts';
import { findExecutable } from '../../edges/engines/executable.ts';

/** The label of every image that `build` made. */
const IMAGE_LABEL = 'mcp-server-code-execution-mode.image';
const LIST_TIMEOUT_MS = 30_000;
/** Enough output for the last step of a build. Chosen. */
const KEPT_OUTPUT_CHARS = 4_096;

export type ContainerEngineName = (typeof CONTAINER_ENGINE_NAMES)[number];

export interface ListedImage {
  readonly id: string;
  /** Names with tags; empty for an untagged image. */
  readonly names: readonly string[];
  readonly sizeBytes: number | null;
}

export interface ImageBuild {
  readonly name: string;
  /** The base image, for messages. */
  readonly base: string;
  /** Text of a Containerfile; the build context is empty. */
  readonly containerfile: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** The images of one engine. Every method rejects with `ENGINE_FAILED` and the engine's error message. */
export interface Images {
  readonly engine: ContainerEngineName;
  /** Images that `build` made. */
  listBuilt(): Promise<ListedImage[]>;
  /** The image with this name; undefined if it is not on this machine. */
  find(name: string): Promise<ListedImage | undefined>;
  /** `isPlain` turns off progress bars even if stderr is a terminal. */
  pull(name: string, isPlain: boolean): Promise<void>;
  build(build: ImageBuild, isPlain: boolean): Promise<void>;
  remove(id: string): Promise<void>;
}

/** One element for each installed container engine, the preferred one first. Starts nothing. */
export function findImages(env: Environment): Images[] {
  return CONTAINER_ENGINE_NAMES.flatMap((engine) => {
    const executable = findExecutable(engine, env);
    return executable === undefined ? [] : [imagesOf(engine, { executable, env: clientEnvironment(env, true) })];
  });
}

function imagesOf(engine: ContainerEngineName, command: EngineCommand): Images {
  async function ask(args: readonly string[]): Promise<string> {
    const result = await runEngineCommand(command, args, { timeoutMs: LIST_TIMEOUT_MS });
    if (result.exitCode !== 0) {
      throw failed(engine, args, result.isTimedOut ? 'it did not answer in time' : result.stderr.trim());
    }
    return result.stdout;
  }
  async function inspect(reference: string): Promise<ListedImage | undefined> {
    const result = await runEngineCommand(command, ['image', 'inspect', reference], { timeoutMs: LIST_TIMEOUT_MS });
    return result.exitCode === 0 ? readInspected(result.stdout) : undefined;
  }
  return {
    engine,
    find: inspect,
    async listBuilt() {
      const ids = await ask(['images', '--quiet', '--no-trunc', `--filter=label=${IMAGE_LABEL}`]);
      const found = await Promise.all([...new Set(ids.split('\n').filter((id) => id !== ''))].map(inspect));
      return found.filter((image) => image !== undefined);
    },
    pull: (name, isPlain) =>
      runShown(engine, command, { work: 'pull', reference: name, args: ['pull', name], isPlain }),
    build: ({ arguments: buildArguments, base, containerfile, name }, isPlain) => {
      const given = Object.entries(buildArguments).map(([key, value]) => `--build-arg=${key}=${value}`);
      const args = ['build', `--tag=${name}`, `--label=${IMAGE_LABEL}=1`, ...given, '-'];
      return runShown(engine, command, { work: 'build', reference: base, args, isPlain, input: containerfile });
    },
    async remove(id) {
      await ask(['rmi', id]);
    },
  };
}

/** Parses the output of `image inspect`, a list with one element. */
function readInspected(text: string): ListedImage | undefined {
  const [image] = JSON.parse(text) as { Id?: string; RepoTags?: string[] | null; Size?: number }[];
  return image?.Id === undefined
    ? undefined
    : { id: image.Id.replace(/^sha256:/, ''), names: image.RepoTags ?? [], sizeBytes: image.Size ?? null };
}

interface ShownRun {
  readonly work: ImageWork;
  /** The image to pull, or the base image of a build. */
  readonly reference: string;
  readonly args: readonly string[];
  readonly isPlain: boolean;
  readonly input?: string;
}

/** Runs the engine's command with visible output. It draws its own progress bars if stderr is a terminal. */
async function runShown(engine: ContainerEngineName, command: EngineCommand, run: ShownRun): Promise<void> {
  const { args, input, isPlain, reference, work } = run;
  // The engine's stdout is for people, too; our stdout is only for our result.
  const destination = isPlain || !process.stderr.isTTY ? 'pipe' : process.stderr;
  const child = spawn(command.executable, args, {
    env: { ...command.env },
    stdio: [input === undefined ? 'ignore' : 'pipe', destination, destination],
    windowsHide: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      output = `${output}${text}`.slice(-KEPT_OUTPUT_CHARS);
    });
  }
  // If the command exits before it reads its input, the exit code reports the failure.
  child.stdin?.on('error', () => undefined).end(input);
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (error) => reject(failed(engine, args, messageOf(error))));
    child.once('close', resolve);
  });
  if (exitCode !== 0) {
    const reason = lastWordsOf(output) || `it exited with code ${exitCode}; see its output above`;
    throw new BridgeError('ENGINE_FAILED', `${engine} could not ${work} ${describe(run)}: ${reason}`, {
      hint: hintOfImageFailure(work, reference, output),
      data: { engine, exitCode },
    });
  }
}

function describe({ reference, work }: ShownRun): string {
  return work === 'pull' ? reference : `on ${reference}`;
}

function failed(engine: ContainerEngineName, args: readonly string[], reason: string): BridgeError {
  return new BridgeError('ENGINE_FAILED', `${engine} ${args[0]} failed: ${reason}`, {
    hint: `To see whether the engine works, run: ${COMMAND} doctor`,
    data: { engine },
  });
}
