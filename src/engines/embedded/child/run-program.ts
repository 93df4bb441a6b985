/** Runs the program to its end and says how it ended, in the words of the supervisor's report. */
import type { SupervisorReport } from '../../../protocol/frames.ts';
import type { Program } from './program.ts';
import { ProgramExit } from './wasi/errno.ts';

type EndedReport = Extract<SupervisorReport, { report: 'ended' }>;
export type ProgramEnd = Pick<EndedReport, 'cause' | 'exit_code' | 'signal'>;

const SIGABRT = 6;
const SIGSEGV = 11;
/** CPython asks for memory in larger steps near the end; within this share of the limit nothing more was to be had. */
const FULL_SHARE = 15 / 16;

/** `maximumBytes` is the limit of the memory. */
export function runProgram({ exports, memory }: Program, maximumBytes: number): ProgramEnd {
  try {
    return exited(exports.py_run());
  } catch (error) {
    if (error instanceof ProgramExit) {
      return exited(error.status);
    }
    const signal = signalOf(error);
    const isFull = memory.buffer.byteLength >= maximumBytes * FULL_SHARE;
    return { cause: isFull ? 'memory' : 'signal', exit_code: null, signal };
  }
}

function exited(status: number): ProgramEnd {
  return { cause: 'exit', exit_code: status & 0xff, signal: null };
}

/** What a processor would have raised: `unreachable` is abort(), everything else a bad access or a full stack. */
function signalOf(error: unknown): number {
  return error instanceof WebAssembly.RuntimeError && error.message === 'unreachable' ? SIGABRT : SIGSEGV;
}
