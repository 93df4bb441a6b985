/**
 * The program of the child process of the embedded engine: restores CPython from its snapshot and runs it until it ends
 * or the host does. `node child.js ARTIFACTS_DIRECTORY MEMORY_BYTES TMP_BYTES WORKSPACE_BYTES`; frames on stdin and
 * stdout, reports on stderr. It is also the program of its own second thread.
 */
import { setFlagsFromString } from 'node:v8';
import { isMainThread, workerData } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { type InputThreadOptions, runInputThread } from './input-thread.ts';
import { report } from './report.ts';
import { runSandbox } from './sandbox.ts';

/** `EX_SOFTWARE` of BSD sysexits.h, as the supervisor of the container engines ends with. */
const EXIT_FAILED = 70;

/**
 * How much a function runs before it is compiled again, and better. At V8's own budget a start compiles hundreds of functions
 * that are then never needed: 350 ms of CPU and 115 MB against 210 ms and 93 MB, and a loop of 0.5 s is as fast (measured
 * on Node 20). A V8 that no longer knows the flag says so on stderr and goes on.
 */
const TIERING_FLAG = '--wasm-tiering-budget=200000000';

// Errors are the guest's failed calls by the thousand; where they were made is no news.
Error.stackTraceLimit = 0;

if (isMainThread) {
  process.exit(orFail(start));
} else {
  orFail(() => {
    runInputThread(workerData as InputThreadOptions);
    return 0;
  });
}

function start(): number {
  const [directory = '', ...numbers] = process.argv.slice(2);
  const [memoryBytes = 0, tmpBytes = 0, workspaceBytes = 0] = numbers.map(Number);
  if (typeof WebAssembly !== 'object') {
    throw new Error('this Node has no WebAssembly; it may have been started with --jitless');
  }
  setFlagsFromString(TIERING_FLAG);
  return runSandbox({ directory, memoryBytes, tmpBytes, workspaceBytes });
}

/** Whichever thread cannot begin: the process says why and ends. */
function orFail(run: () => number): number {
  try {
    return run();
  } catch (error) {
    report({ report: 'ended', cause: 'failed', exit_code: null, signal: null, detail: messageOf(error) });
    // The other thread may wait for this one for ever, and `exit` of a second thread ends that thread alone.
    return isMainThread ? EXIT_FAILED : process.kill(process.pid, 'SIGKILL') && EXIT_FAILED;
  }
}
