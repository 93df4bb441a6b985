/**
 * The child process of the embedded engine for JavaScript programs. Usage: `node javascript.cjs FOLDER MEMORY_BYTES
 * WORKSPACE_BYTES`, with the lines of a program on stdin and stdout and reports on stderr. The main thread reads the host's pipe
 * and ends the process, whatever the program does. A second thread runs the same file and, in it, QuickJS.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setFlagsFromString } from 'node:v8';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { messageOf } from '../../../../core/base/errors.ts';
import { createHostOutput, report } from '../child/host-output.ts';
import { forbidCodeFromStrings } from '../child/no-code-from-strings.ts';
import { parseJob } from './job.ts';
import { type RunningJob, runJob } from './run-job.ts';

/** `EX_SOFTWARE`, as for Python. */
const EXIT_FAILED = 70;
const SIGKILL = 9;
const STDOUT = 1;
/** QuickJS measures its own stack, but each of its frames also needs one here: for 512 KiB of it, up to 8 MiB (measured). */
const RESOURCE_LIMITS = { maxOldGenerationSizeMb: 256, stackSizeMb: 16 };
/** As for Python. A loop of 3,000,000 steps takes 1.1 s of CPU with it, and 2.0 s with V8's default (measured on Node 20). */
const TIERING_FLAG = '--wasm-tiering-budget=200000000';
const VALIDATION_FLAG = '--wasm-lazy-validation';
/** Bytes of one page of WebAssembly. */
const PAGE_BYTES = 65_536;
/** QuickJS cannot start in less (measured: 1.3 MiB, and its files). Its own limit then reports what is missing. */
const MIN_PAGES = 256;
/** 4 GiB, all that 32 bits can address. */
const MAX_PAGES = 65_536;

interface ProgramData {
  readonly directory: string;
  readonly memoryBytes: number;
  readonly workspaceBytes: number;
}

// A stack trace would tell a program where the files of this process are.
Error.stackTraceLimit = 0;
forbidCodeFromStrings();

if (isMainThread) {
  orFail(startThread);
} else {
  runThread(workerData as ProgramData);
}

function startThread(): void {
  const [directory = '', memoryBytes, workspaceBytes] = process.argv.slice(2);
  if (typeof WebAssembly !== 'object') {
    throw new Error('this Node has no WebAssembly; it may have been started with --jitless');
  }
  const data: ProgramData = {
    directory,
    memoryBytes: Number(memoryBytes),
    workspaceBytes: Number(workspaceBytes),
  };
  const thread = new Worker(process.argv[1] ?? '', { workerData: data, resourceLimits: RESOURCE_LIMITS });
  thread.on('error', (error) => endBroken(error));
  thread.on('exit', (status) => process.exit(status));
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('line', (line) => thread.postMessage(line, []));
  // The host keeps the pipe open until the last line, so it is gone.
  lines.on('close', () => process.exit(0));
}

/** Node ends a thread whose JavaScript heap is full. */
function endBroken(error: Error): void {
  const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
  report({ report: 'ended', cause: isMemory ? 'memory' : 'signal', exit_code: null, signal: SIGKILL });
  process.exit(EXIT_FAILED);
}

function runThread({ directory, memoryBytes, workspaceBytes }: ProgramData): void {
  const output = createHostOutput(STDOUT, () => undefined);
  const write = (line: string): void => {
    const bytes = Buffer.from(line);
    for (let at = 0; at < bytes.length; ) {
      at += output.write?.(bytes.subarray(at)) ?? bytes.length;
    }
  };
  // Only now: with flags of V8 that are set before it starts, this thread would compile Node's own modules again.
  setFlagsFromString(TIERING_FLAG);
  setFlagsFromString(VALIDATION_FLAG);
  // QuickJS can have no more memory than V8 allows to any module.
  const pages = Math.min(Math.max(MIN_PAGES, Math.floor(memoryBytes / PAGE_BYTES)), MAX_PAGES);
  setFlagsFromString(`--wasm-max-mem-pages=${pages}`);
  const module = new WebAssembly.Module(readFileSync(join(directory, 'quickjs.wasm')));
  const guestBytecode = readFileSync(join(directory, 'javascript-guest.bytecode'));
  report({ report: 'started', memory_limit_bytes: memoryBytes, pids_limit: null, seccomp: false });
  let running: Promise<RunningJob> | undefined;
  parentPort?.on('message', (line: string) => {
    if (running === undefined) {
      const options = { module, guestBytecode, memoryBytes, workspaceBytes, write, onEnd: () => process.exit(0) };
      running = startJob(line, options);
    } else {
      void running.then((job) => job.answer(line));
    }
  });
}

async function startJob(line: string, options: Omit<Parameters<typeof runJob>[0], 'job'>): Promise<RunningJob> {
  try {
    return await runJob({ ...options, job: parseJob(line) });
  } catch (error) {
    return fail(error);
  }
}

function orFail(run: () => void): void {
  try {
    run();
  } catch (error) {
    fail(error);
  }
}

/** Reports why nothing can run, and exits. */
function fail(error: unknown): never {
  report({ report: 'ended', cause: 'failed', exit_code: null, signal: null, detail: messageOf(error) });
  process.exit(EXIT_FAILED);
}
