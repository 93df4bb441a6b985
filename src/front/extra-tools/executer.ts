/**
 * The tools `start_code_executer` and `stop_code_executer`, and `execute_code(code)`, over the session `executer`. As with the
 * environments that their users know, nothing outlives the process: the first code after a start, or after a stop, finds nothing.
 */
import type { ShownAnswer } from '../../core/base/cell.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { RenderedAnswer } from '../../core/render/render.ts';
import { renderAnswer } from '../../core/render/render.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { CellCall, FrontTool, ToolDefinition } from '../server/front-tool.ts';
import { readArguments, readTexts } from './arguments.ts';
import type { ContinueSession } from './execute-code.ts';

const SESSION = 'executer';
const PURPOSE = 'start_code_executer, execute_code and stop_code_executer run Python whose state persists.';

interface ExecuterOptions {
  readonly bridge: LazyBridge;
  readonly maxOutputChars: number;
  readonly maxTimeoutSeconds: number;
}

export interface Executer {
  readonly start: FrontTool;
  readonly stop: FrontTool;
  readonly execute: ContinueSession;
}

export function createExecuter({ bridge, maxOutputChars, maxTimeoutSeconds }: ExecuterOptions): Executer {
  let isStarted = false;

  function run(code: string, timeoutSeconds: number | undefined, isFresh: boolean): CellCall {
    isStarted = true;
    return {
      kind: 'cell',
      cell: { given: { code, session: SESSION, timeout: timeoutSeconds }, isFresh },
      render: (answer) => renderExecution(answer, maxOutputChars),
    };
  }

  async function stop(): Promise<RenderedAnswer> {
    const wasStarted = isStarted;
    isStarted = false;
    try {
      await (await bridge.made())?.resetSession(SESSION);
      return stopped(wasStarted ? 'Stopped.' : 'Nothing was started.');
    } catch (error) {
      return stopped('', `The executer cannot be stopped: ${messageOf(error)}`);
    }
  }

  return {
    start: {
      definition: START,
      purpose: PURPOSE,
      async call(given) {
        const named = await readArguments(given, ['dependencies']);
        // An installation may take longer than code usually does.
        return run(startCode(readTexts(named, 'dependencies')), maxTimeoutSeconds, true);
      },
    },
    execute: (code, timeoutSeconds) => run(code, timeoutSeconds, !isStarted),
    stop: {
      definition: STOP,
      purpose: PURPOSE,
      async call(given) {
        await readArguments(given, []);
        return { kind: 'own', answer: stop };
      },
    },
  };
}

const START: ToolDefinition = {
  name: 'start_code_executer',
  description: 'Start a new Python with these packages installed.',
  inputSchema: {
    type: 'object',
    properties: { dependencies: { type: 'array', items: { type: 'string' } } },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
};

const STOP: ToolDefinition = {
  name: 'stop_code_executer',
  description: 'End the executer. Its state is lost.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
};

/** A JSON text is a valid Python literal. */
function startCode(dependencies: readonly string[]): string {
  return dependencies.length === 0
    ? 'print("Started.")'
    : `print("Started, with", ", ".join(await runtime.install(${dependencies.map((one) => JSON.stringify(one)).join(', ')})))`;
}

function stopped(output: string, error = ''): RenderedAnswer {
  const status = error === '' ? 'success' : 'error';
  return {
    content: [{ type: 'text', text: output || error }],
    structuredContent: { output, error, status },
    isError: error !== '',
  };
}

/** As text, the answer of a cell. As data: what was printed and the last value, what went wrong, and the status. */
async function renderExecution(answer: ShownAnswer, maxChars: number): Promise<RenderedAnswer> {
  const rendered = await renderAnswer(answer, 'compact', maxChars);
  const {
    stdout = [],
    result,
    stderr = [],
    error,
  } = rendered.structuredContent as {
    readonly stdout?: readonly string[];
    readonly result?: string;
    readonly stderr?: readonly string[];
    readonly error?: string;
  };
  const { status, notices } = answer;
  return {
    ...rendered,
    structuredContent: {
      output: [...stdout, ...(result === undefined ? [] : [result])].join('\n'),
      error: [...stderr, ...(error === undefined ? [] : [error])].join('\n'),
      status,
      ...(notices.length > 0 && { notices }),
    },
  };
}
