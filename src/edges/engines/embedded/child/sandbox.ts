/** One sandbox in this process: sets up its parts, restores the program, runs it, and reports how it ended. */
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import type { SupervisorReport } from '../../../../core/protocol/frames.ts';
import { BUILT_FILE, checkBuiltFile, readManifest } from './built-files.ts';
import { Capture } from './capture.ts';
import { createRoot } from './files/root.ts';
import type { HostInput } from './host-input.ts';
import { createHostOutput, report } from './host-output.ts';
import { openIndexedFile } from './indexed-file.ts';
import { type GuestEnvironment, instantiateProgram, PAGE_BYTES, type Program } from './program.ts';
import { restoreSnapshot, snapshotPages } from './snapshot.ts';
import { SYSTEM_CLOCK } from './wasi/clock.ts';
import { NULL_DEVICE } from './wasi/descriptors.ts';
import { ProgramExit } from './wasi/errno.ts';

export interface ChildOptions {
  /** Folder of the built files. */
  readonly directory: string;
  readonly memoryBytes: number;
  readonly tmpBytes: number;
  readonly workspaceBytes: number;
  /** Whether one program runs, instead of the cells of a session. */
  readonly isForProgram: boolean;
}

type EndedReport = Extract<SupervisorReport, { report: 'ended' }>;
type ProgramEnd = Pick<EndedReport, 'cause' | 'exit_code' | 'signal'>;

const STDOUT = 1;
const SIGABRT = 6;
const SIGSEGV = 11;
/** Shells add this to a signal to form an exit status. */
const SIGNAL_STATUS = 128;
/** Near its limit CPython asks for memory in larger steps. A crash above this share of the limit counts as out of memory. */
const FULL_SHARE = 15 / 16;

/** Returns the exit status for this process. Throws if the sandbox cannot be set up. The snapshot must have been checked. */
export function runSandbox(options: ChildOptions, module: WebAssembly.Module, input: HostInput): number {
  const outputs = [new Capture('stdout'), new Capture('stderr')] as const;
  const program = restoreProgram(options, module, guestEnvironment(options, input, outputs));
  report({ report: 'started', memory_limit_bytes: options.memoryBytes, pids_limit: null, seccomp: false });
  const end = runProgram(program, options.memoryBytes);
  const [stdout, stderr] = outputs.map((output) => Buffer.from(output.rest()).toString('base64'));
  report({ report: 'ended', ...end, stdout, stderr });
  return end.exit_code ?? SIGNAL_STATUS + (end.signal ?? 0);
}

function restoreProgram(options: ChildOptions, module: WebAssembly.Module, environment: GuestEnvironment): Program {
  const { directory } = options;
  const snapshot = openIndexedFile(join(directory, BUILT_FILE.SNAPSHOT));
  const initial = snapshotPages(snapshot);
  const maximum = Math.floor(options.memoryBytes / PAGE_BYTES);
  if (maximum < initial) {
    throw new Error(
      `the memory limit of ${options.memoryBytes} bytes is too low: Python needs at least ${initial * PAGE_BYTES} bytes`,
    );
  }
  const program = instantiateProgram(module, { initial, maximum }, environment);
  restoreSnapshot(snapshot, program.memory);
  snapshot.close();
  return program;
}

function guestEnvironment(
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
    root: createRoot(openLibrary, options, SYSTEM_CLOCK.realtime(), options.isForProgram),
    clock: SYSTEM_CLOCK,
    waiter: input,
    devices: [NULL_DEVICE, stdout.writeEnd, stderr.writeEnd, input, output, stdout.readEnd, stderr.readEnd],
    fillRandom: (target) => randomFillSync(target),
    takeInterrupt: () => input.takeInterrupt(),
  };
}

/** Runs the program to its end. `maximumBytes` is its memory limit. */
function runProgram({ exports, memory }: Program, maximumBytes: number): ProgramEnd {
  try {
    return exited(exports.py_run());
  } catch (error) {
    if (error instanceof ProgramExit) {
      return exited(error.status);
    }
    const isFull = memory.buffer.byteLength >= maximumBytes * FULL_SHARE;
    return { cause: isFull ? 'memory' : 'signal', exit_code: null, signal: signalOf(error) };
  }
}

function exited(status: number): ProgramEnd {
  return { cause: 'exit', exit_code: status & 0xff, signal: null };
}

/** The signal that a native process would have got: `unreachable` is abort(), anything else a bad access or a full stack. */
function signalOf(error: unknown): number {
  return error instanceof WebAssembly.RuntimeError && error.message === 'unreachable' ? SIGABRT : SIGSEGV;
}
