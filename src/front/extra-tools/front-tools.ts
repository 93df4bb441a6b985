/** Makes the tools that the client sees. */
import type { Logger } from '../../core/base/log.ts';
import type { OutputMode } from '../../core/render/render.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { FrontToolName } from '../../edges/settings/front-tools.ts';
import type { FrontTool } from '../server/front-tool.ts';
import { createRunPython } from '../server/run-python.ts';
import { createExecuteCode } from './execute-code.ts';
import { createExecuter } from './executer.ts';
import { createSessionsTool } from './sessions-tool.ts';

export interface FrontToolOptions {
  readonly bridge: LazyBridge;
  readonly outputMode: OutputMode;
  /** Limits the output of one answer. */
  readonly maxOutputChars: number;
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  /** Whether clients that show views get one. */
  readonly apps?: boolean | undefined;
  readonly logger: Logger;
}

/**
 * The tools of these names, in this order. There is one `execute_code`, at its first place: with both `execute_code` and
 * `executer`, its arguments decide whether it runs a program or continues the session of the executer.
 */
export function createFrontTools(names: readonly FrontToolName[], options: FrontToolOptions): readonly FrontTool[] {
  const executer = names.includes('executer') ? createExecuter(options) : undefined;
  const executeCode = createExecuteCode(options, {
    runsPrograms: names.includes('execute_code'),
    continueSession: executer?.execute,
  });
  const tools = names.flatMap((name): readonly FrontTool[] => {
    switch (name) {
      case 'run_python':
        return [createRunPython({ ...options, defaultTimeoutSeconds: options.timeoutSeconds })];
      case 'execute_code':
        return [executeCode];
      case 'executer':
        return executer === undefined ? [] : [executer.start, executeCode, executer.stop];
      case 'sessions':
        return [createSessionsTool(options)];
    }
  });
  return [...new Set(tools)];
}
