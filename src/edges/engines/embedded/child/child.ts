/**
 * The child process of the embedded engine. Restores CPython from its snapshot and runs it until it ends or the host is gone.
 * Usage: `node child.cjs FOLDER MEMORY_BYTES TMP_BYTES WORKSPACE_BYTES session|program`, with frames on stdin and stdout and reports on stderr.
 * The main thread reads the host's pipe and ends the process. A second thread runs the same file and, in it, Python.
 */
import { setFlagsFromString } from 'node:v8';
import { isMainThread, MessageChannel, parentPort, Worker, workerData } from 'node:worker_threads';
import { messageOf } from '../../../../core/base/errors.ts';
import { findCollector } from '../../../../core/base/garbage.ts';
import { BUILT_FILE, checkBuiltFile, readBuiltFile, readManifest } from './built-files.ts';
import { HostInput } from './host-input.ts';
import { report } from './host-output.ts';
import { createWords, readInput, type SharedInput } from './input-reader.ts';
import { forbidCodeFromStrings } from './no-code-from-strings.ts';
import { type ChildOptions, runSandbox } from './sandbox.ts';

/** `EX_SOFTWARE` from BSD sysexits.h, the same exit code as the supervisor's in a container. */
const EXIT_FAILED = 70;
const SIGKILL = 9;
/**
 * The JavaScript heap holds file names and the like. The stack limits Python's recursion: CPython needs 2.5 MB to raise
 * RecursionError before the stack overflows (measured).
 */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, stackSizeMb: 8 };

interface GuestData {
  readonly shared: SharedInput;
  readonly options: ChildOptions;
}

/**
 * How long V8 runs a function before it compiles an optimized version. With V8's default, a start compiles hundreds of functions
 * that are not needed again: 350 ms of CPU and 115 MB, instead of 210 ms and 93 MB. A loop of 0.5 s is equally fast with both
 * (measured on Node 20). A V8 without this flag prints a warning on stderr and continues.
 */
const TIERING_FLAG = '--wasm-tiering-budget=200000000';
/** Validates each function on its first call, when it is compiled. Saves 10 to 30 ms of CPU (measured on Node 20 and 24). */
const VALIDATION_FLAG = '--wasm-lazy-validation';

// Failed calls of the guest throw errors by the thousand, and no one reads their stack traces.
Error.stackTraceLimit = 0;
forbidCodeFromStrings();

if (isMainThread) {
  orFail(startGuest);
} else {
  parentPort?.once('message', (module: WebAssembly.Module) => {
    const { shared, options } = workerData as GuestData;
    orFail(() => process.exit(runSandbox(options, module, new HostInput(shared))));
  });
  parentPort?.postMessage(undefined, []);
}

function startGuest(): void {
  const [directory = '', ...numbers] = process.argv.slice(2);
  const [memoryBytes = 0, tmpBytes = 0, workspaceBytes = 0] = numbers.map(Number);
  const isForProgram = numbers[3] === 'program';
  if (typeof WebAssembly !== 'object') {
    throw new Error('this Node has no WebAssembly; it may have been started with --jitless');
  }
  const words = createWords();
  const { port1, port2 } = new MessageChannel();
  const data: GuestData = {
    shared: { words, port: port2 },
    options: { directory, memoryBytes, tmpBytes, workspaceBytes, isForProgram },
  };
  const guest = new Worker(process.argv[1] ?? '', {
    workerData: data,
    transferList: [port2],
    resourceLimits: RESOURCE_LIMITS,
  });
  guest.on('error', (error) => reportBrokenThread(error));
  guest.on('exit', (status) => process.exit(status));
  readInput({ words, port: port1 });
  // Read and checked while the other thread starts, which takes longer.
  const manifest = readManifest(directory);
  const code = readBuiltFile(directory, BUILT_FILE.MODULE, manifest);
  checkBuiltFile(directory, BUILT_FILE.SNAPSHOT, manifest);
  sendModuleLater(guest, code);
}

/** A function of its own: a listener in the one above would keep the code in memory with all others there. */
function sendModuleLater(guest: Worker, code: Buffer): void {
  guest.once('message', () => orFail(() => sendModule(guest, code)));
}

/** The other thread has started: only now, because with flags of V8 other than at the start, Node would compile its modules again. */
function sendModule(guest: Worker, code: Buffer): void {
  setFlagsFromString(TIERING_FLAG);
  setFlagsFromString(VALIDATION_FLAG);
  guest.postMessage(new WebAssembly.Module(code), []);
  // V8 has copied the 6 MB of the module. It would never collect ours, because this thread allocates almost nothing from now on.
  setImmediate(findCollector());
}

/** Node ends a thread whose JavaScript heap is full. */
function reportBrokenThread(error: Error): void {
  const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  const cause = isMemory ? 'memory' : 'signal';
  report({ report: 'ended', cause, exit_code: null, signal: SIGKILL });
}

/** If either thread cannot start, the process reports why and exits. */
function orFail(run: () => void): void {
  try {
    run();
  } catch (error) {
    report({ report: 'ended', cause: 'failed', exit_code: null, signal: null, detail: messageOf(error) });
    process.exit(EXIT_FAILED);
  }
}
