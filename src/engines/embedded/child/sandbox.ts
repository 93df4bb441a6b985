/** One sandbox in this process: makes its parts, restores the program, runs it, and says how it ended. */
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { BUILT_FILE, checkBuiltFile, readManifest } from './artifacts.ts';
import { Capture } from './capture.ts';
import { createRoot } from './files/root.ts';
import type { HostInput } from './host-input.ts';
import { createHostOutput } from './host-output.ts';
import { openIndexedFile } from './indexed-file.ts';
import { type GuestEnvironment, instantiateProgram, PAGE_BYTES, type Program } from './program.ts';
import { report } from './report.ts';
import { runProgram } from './run-program.ts';
import { restoreSnapshot, snapshotPages } from './snapshot.ts';
import { SYSTEM_CLOCK } from './wasi/clock.ts';
import { NULL_DEVICE } from './wasi/descriptors.ts';

const STDOUT = 1;
/** What a shell would say of an end by a signal. */
const SIGNAL_STATUS = 128;

export interface ChildOptions {
  /** Where the built files are. */
  readonly directory: string;
  readonly memoryBytes: number;
  readonly tmpBytes: number;
  readonly workspaceBytes: number;
}

/** Returns the exit status of this process. Throws when the sandbox cannot be set up. */
export function runSandbox(options: ChildOptions, module: WebAssembly.Module, input: HostInput): number {
  const outputs = [new Capture('stdout'), new Capture('stderr')] as const;
  const program = restoreProgram(options, module, surroundings(options, input, outputs));
  report({ report: 'started', memory_limit_bytes: options.memoryBytes, pids_limit: null, seccomp: false });
  const end = runProgram(program, options.memoryBytes);
  const [stdout, stderr] = outputs.map((output) => Buffer.from(output.rest()).toString('base64'));
  report({ report: 'ended', ...end, stdout, stderr });
  return end.exit_code ?? SIGNAL_STATUS + (end.signal ?? 0);
}

function restoreProgram(options: ChildOptions, module: WebAssembly.Module, around: GuestEnvironment): Program {
  const { directory } = options;
  checkBuiltFile(directory, BUILT_FILE.SNAPSHOT, readManifest(directory));
  const snapshot = openIndexedFile(join(directory, BUILT_FILE.SNAPSHOT));
  const initial = snapshotPages(snapshot);
  const maximum = Math.floor(options.memoryBytes / PAGE_BYTES);
  if (maximum < initial) {
    throw new Error(`${options.memoryBytes} bytes of memory are too few: Python alone has ${initial * PAGE_BYTES}`);
  }
  const program = instantiateProgram(module, { initial, maximum }, around);
  restoreSnapshot(snapshot, program.memory);
  snapshot.close();
  return program;
}

function surroundings(
  options: ChildOptions,
  input: HostInput,
  [stdout, stderr]: readonly [Capture, Capture],
): GuestEnvironment {
  const output = createHostOutput(STDOUT, () => input.checkEnd());
  const { directory } = options;
  const openLibrary = () => {
    checkBuiltFile(directory, BUILT_FILE.LIBRARY, readManifest(directory));
    return openIndexedFile(join(directory, BUILT_FILE.LIBRARY));
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
