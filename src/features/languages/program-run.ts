/** What the ways to run a program have in common. */
import type { ProgramFile } from '../../core/base/program.ts';
import type { Sandbox, SandboxExit } from '../../core/session/engine.ts';
import type { KeptOutput } from './kept-output.ts';

/** How a program ended, or why it did not start. */
export interface ProgramEnd {
  /** Whether the sandbox has begun to run the program. If not, the engine explains why. */
  readonly isStarted: boolean;
  /** Undefined if it was ended. */
  readonly exitCode: number | undefined;
  readonly exit: SandboxExit;
  readonly stdout: KeptOutput;
  readonly stderr: KeptOutput;
  /** The end of what the engine wrote, for its explanation. */
  readonly engineSaid: string;
  readonly files: readonly ProgramFile[];
  /** What was left but is not returned, because it is too much: names of files, or how many others. */
  readonly omittedFiles: readonly string[];
}

/** A program that is ready to run in a sandbox. */
export interface RunnableProgram {
  /** What PID 1 of the sandbox runs. */
  readonly command: readonly string[];
  /** Runs it to its end, and calls `onStarted` when it begins. Never rejects. */
  run(sandbox: Sandbox, onStarted: () => void): Promise<ProgramEnd>;
}
