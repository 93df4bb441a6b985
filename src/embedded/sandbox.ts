/** One sandbox in this process: makes its parts, restores the program, runs it, and says how it ended. */
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { ARTIFACT, checkArtifact, type Manifest, readArtifact, readManifest } from './artifacts.ts';
import { Capture } from './capture.ts';
import { createRoot } from './files/root.ts';
import { HostInput } from './host-input.ts';
import { createHostOutput } from './host-output.ts';
import { openIndexedFile } from './indexed-file.ts';
import type { InputThreadOptions } from './input-thread.ts';
import { createWords } from './input-words.ts';
import { createProgram, PAGE_BYTES, type Program, type Surroundings } from './program.ts';
import { report } from './report.ts';
import { runProgram } from './run-program.ts';
import { restoreSnapshot, snapshotPages } from './snapshot.ts';
import { SYSTEM_CLOCK } from './wasi/clock.ts';
import { NULL_DEVICE } from './wasi/descriptors.ts';

const STDOUT = 1;
/** What a shell would say of an end by a signal. */
const SIGNAL_STATUS = 128;

export interface SandboxOptions {
  /** Where the artifacts are. */
  readonly directory: string;
  readonly memoryBytes: number;
  readonly tmpBytes: number;
  readonly workspaceBytes: number;
}

/** Returns the exit status of this process. Throws when the sandbox cannot be set up. */
export function runSandbox(options: SandboxOptions): number {
  const input = startInput();
  const outputs = [new Capture('stdout'), new Capture('stderr')] as const;
  const program = restoreProgram(options, input, outputs);
  report({ report: 'started', memory_limit_bytes: options.memoryBytes, pids_limit: null, seccomp: false });
  const end = runProgram(program, options.memoryBytes);
  const [stdout, stderr] = outputs.map((output) => Buffer.from(output.rest()).toString('base64'));
  report({ report: 'ended', ...end, stdout, stderr });
  return end.exit_code ?? SIGNAL_STATUS + (end.signal ?? 0);
}

/** Starts the thread that reads the host's pipe; it comes up while this one restores the program. */
function startInput(): HostInput {
  const words = createWords();
  const { port1, port2 } = new MessageChannel();
  const workerData: InputThreadOptions = { words, port: port2 };
  const thread = new Worker(new URL(import.meta.url), { workerData, transferList: [port2] });
  thread.unref();
  return new HostInput(words, port1);
}

function restoreProgram(options: SandboxOptions, input: HostInput, outputs: readonly [Capture, Capture]): Program {
  const { directory } = options;
  const manifest = readManifest(directory);
  const module = new WebAssembly.Module(readArtifact(directory, ARTIFACT.MODULE, manifest));
  checkArtifact(directory, ARTIFACT.SNAPSHOT, manifest);
  const snapshot = openIndexedFile(join(directory, ARTIFACT.SNAPSHOT));
  const initial = snapshotPages(snapshot);
  const maximum = Math.floor(options.memoryBytes / PAGE_BYTES);
  if (maximum < initial) {
    throw new Error(`${options.memoryBytes} bytes of memory are too few: Python alone has ${initial * PAGE_BYTES}`);
  }
  const program = createProgram(module, { initial, maximum }, surroundings(options, manifest, input, outputs));
  restoreSnapshot(snapshot, program.memory);
  snapshot.close();
  return program;
}

function surroundings(
  options: SandboxOptions,
  manifest: Manifest,
  input: HostInput,
  [stdout, stderr]: readonly [Capture, Capture],
): Surroundings {
  const output = createHostOutput(STDOUT, () => input.checkEnd());
  const { directory } = options;
  const openLibrary = () => {
    checkArtifact(directory, ARTIFACT.LIBRARY, manifest);
    return openIndexedFile(join(directory, ARTIFACT.LIBRARY));
  };
  return {
    root: createRoot(openLibrary, options, SYSTEM_CLOCK.realtime()),
    clock: SYSTEM_CLOCK,
    waiter: input,
    devices: [NULL_DEVICE, stdout.writeEnd, stderr.writeEnd, input, output, stdout.readEnd, stderr.readEnd],
    fillRandom: (target) => randomFillSync(target),
    takeInterrupt: () => input.takeInterrupt(),
  };
}
