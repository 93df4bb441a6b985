/**
 * The program of the child process of the embedded engine: restores CPython from its snapshot and runs it until it ends
 * or the host does. `node child.js ARTIFACTS_DIRECTORY MEMORY_BYTES TMP_BYTES WORKSPACE_BYTES`; frames on stdin and
 * stdout, reports on stderr. It is also the program of its own second thread.
 */
import { isMainThread, workerData } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { type InputThreadOptions, runInputThread } from './input-thread.ts';
import { report } from './report.ts';
import { runSandbox } from './sandbox.ts';

/** `EX_SOFTWARE` of BSD sysexits.h, as the supervisor of the container engines ends with. */
const EXIT_FAILED = 70;

// Errors are the guest's failed calls by the thousand; where they were made is no news.
Error.stackTraceLimit = 0;

if (isMainThread) {
  process.exit(start());
} else {
  runInputThread(workerData as InputThreadOptions);
}

function start(): number {
  const [directory = '', ...numbers] = process.argv.slice(2);
  const [memoryBytes = 0, tmpBytes = 0, workspaceBytes = 0] = numbers.map(Number);
  try {
    return runSandbox({ directory, memoryBytes, tmpBytes, workspaceBytes });
  } catch (error) {
    report({ report: 'ended', cause: 'failed', exit_code: null, signal: null, detail: messageOf(error) });
    return EXIT_FAILED;
  }
}
