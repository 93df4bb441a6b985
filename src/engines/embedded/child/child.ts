/**
 * The program of the child process of the embedded engine: restores CPython from its snapshot and runs it until it ends
 * or the host does. `node child.mjs FOLDER MEMORY_BYTES TMP_BYTES WORKSPACE_BYTES`; frames on stdin and
 * stdout, reports on stderr. The main thread reads the host's pipe and ends the process; the same program runs again in
 * a second thread, where Python computes and sleeps.
 */
import { setFlagsFromString } from 'node:v8';
import { isMainThread, MessageChannel, parentPort, Worker, workerData } from 'node:worker_threads';
import { messageOf } from '../../../base/errors.ts';
import { BUILT_FILE, readBuiltFile, readManifest } from './artifacts.ts';
import { HostInput } from './host-input.ts';
import { readInput, type SharedInput } from './input-reader.ts';
import { createWords } from './input-words.ts';
import { report } from './report.ts';
import { type ChildOptions, runSandbox } from './sandbox.ts';

/** `EX_SOFTWARE` of BSD sysexits.h, as the supervisor of the container engines ends with. */
const EXIT_FAILED = 70;
const SIGKILL = 9;
/**
 * JavaScript's own memory, where names of files and the like are; and the stack, which CPython measures its recursion
 * by: it needs 2.5 MB to raise RecursionError before the stack is full (measured).
 */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, stackSizeMb: 8 };

interface GuestData {
  readonly shared: SharedInput;
  readonly options: ChildOptions;
}

/**
 * How much a function runs before it is compiled again, and better. At V8's own budget a start compiles hundreds of functions
 * that are then never needed: 350 ms of CPU and 115 MB against 210 ms and 93 MB, and a loop of 0.5 s is as fast (measured
 * on Node 20). A V8 that no longer knows the flag says so on stderr and goes on.
 */
const TIERING_FLAG = '--wasm-tiering-budget=200000000';
/** Functions are validated when they are compiled, which is when they are first called: 10 to 30 ms of CPU less (measured on Node 20 and 24). */
const VALIDATION_FLAG = '--wasm-lazy-validation';

// Errors are the guest's failed calls by the thousand; where they were made is no news.
Error.stackTraceLimit = 0;

if (isMainThread) {
  orFail(startGuest);
} else {
  parentPort?.once('message', (module: WebAssembly.Module) => {
    const { shared, options } = workerData as GuestData;
    orFail(() => process.exit(runSandbox(options, module, new HostInput(shared))));
  });
}

function startGuest(): void {
  const [directory = '', ...numbers] = process.argv.slice(2);
  const [memoryBytes = 0, tmpBytes = 0, workspaceBytes = 0] = numbers.map(Number);
  if (typeof WebAssembly !== 'object') {
    throw new Error('this Node has no WebAssembly; it may have been started with --jitless');
  }
  setFlagsFromString(TIERING_FLAG);
  setFlagsFromString(VALIDATION_FLAG);
  const words = createWords();
  const { port1, port2 } = new MessageChannel();
  const data: GuestData = {
    shared: { words, port: port2 },
    options: { directory, memoryBytes, tmpBytes, workspaceBytes },
  };
  const guest = new Worker(new URL(import.meta.url), {
    workerData: data,
    transferList: [port2],
    resourceLimits: RESOURCE_LIMITS,
  });
  guest.on('error', (error) => reportBrokenThread(error));
  guest.on('exit', (status) => process.exit(status));
  readInput({ words, port: port1 });
  // Compiled here while the other thread comes up: both take as long.
  guest.postMessage(new WebAssembly.Module(readBuiltFile(directory, BUILT_FILE.MODULE, readManifest(directory))), []);
}

/** Node ends a thread whose JavaScript memory is full. */
function reportBrokenThread(error: Error): void {
  const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  const cause = isMemory ? 'memory' : 'signal';
  report({ report: 'ended', cause, exit_code: null, signal: SIGKILL });
}

/** Whichever thread cannot begin: the process says why and ends. */
function orFail(run: () => void): void {
  try {
    run();
  } catch (error) {
    report({ report: 'ended', cause: 'failed', exit_code: null, signal: null, detail: messageOf(error) });
    process.exit(EXIT_FAILED);
  }
}
