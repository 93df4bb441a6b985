/**
 * The tool `execute_code`: a program in a sandbox of its own, or, as `execute_code(code)`, the next piece of code for the session
 * of the executer.
 */
import { type BridgeError, reportError, toBridgeError } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { ProgramRequest } from '../../core/base/program.ts';
import type { RenderedAnswer } from '../../core/render/render.ts';
import type { LazyBridge, RequestContext } from '../../core/session/lazy-bridge.ts';
import { checkTimeout } from '../server/arguments.ts';
import { type FrontCall, type FrontTool, invalidCall, type ToolDefinition } from '../server/front-tool.ts';
import { checkedArgument, readArguments, readText, refuse } from './arguments.ts';
import { renderNotRun, renderProgram } from './program-answer.ts';
import { readProgram } from './program-arguments.ts';

interface ExecuteCodeOptions {
  readonly bridge: LazyBridge;
  readonly maxOutputChars: number;
  readonly maxTimeoutSeconds: number;
  readonly logger: Logger;
}

/** Continues the session of the executer. */
export type ContinueSession = (code: string, timeoutSeconds: number | undefined) => FrontCall;

interface Forms {
  readonly runsPrograms: boolean;
  /** Undefined if there is no executer. */
  readonly continueSession: ContinueSession | undefined;
}

const PROGRAM_ARGUMENTS = [
  'language',
  'entrypoint_code',
  'entrypoint_filename',
  'additional_files',
  'snippet_name',
] as const;

export function createExecuteCode(options: ExecuteCodeOptions, forms: Forms): FrontTool {
  const { runsPrograms, continueSession } = forms;
  const allowed = [
    ...(continueSession === undefined ? [] : ['code']),
    ...(runsPrograms ? PROGRAM_ARGUMENTS : []),
    'timeout',
  ];
  return {
    definition: describe(options.maxTimeoutSeconds, forms),
    purpose: runsPrograms
      ? 'execute_code runs a program in a new sandbox without network.'
      : 'start_code_executer, execute_code and stop_code_executer run Python whose state persists.',
    async call(given) {
      const named = await readArguments(given, allowed);
      const { timeout } = named;
      const seconds =
        timeout === undefined ? undefined : checkedArgument(() => checkTimeout(timeout, options.maxTimeoutSeconds));
      const code = readText(named, 'code');
      const other = PROGRAM_ARGUMENTS.find((name) => named[name] !== undefined);
      if (code !== undefined && other !== undefined) {
        throw refuse(
          `\`code\` and \`${other}\` cannot be combined: \`code\` continues the session of the executer, \`${other}\` belongs to a program of its own.`,
          'Send `code` alone, or `language` with `entrypoint_code`.',
        );
      }
      if (continueSession !== undefined && (code !== undefined || !runsPrograms)) {
        if (code === undefined) {
          throw refuse('`code` is missing; it is the Python source to run, a string.', 'Send the source as `code`.');
        }
        return continueSession(code, seconds);
      }
      const program = readProgram(named, seconds === undefined ? undefined : seconds * 1000);
      return { kind: 'own', answer: (context) => runProgram(options, program, context) };
    },
  };
}

async function runProgram(
  { bridge, logger, maxOutputChars }: ExecuteCodeOptions,
  program: ProgramRequest,
  context: RequestContext,
): Promise<RenderedAnswer> {
  try {
    return renderProgram(await (await bridge.get()).runProgram(program, context), maxOutputChars);
  } catch (thrown) {
    const error = toBridgeError(thrown);
    if (isRefusedArgument(error)) {
      throw invalidCall(error);
    }
    if (error.code === 'INTERNAL') {
      logger.error(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    }
    return renderNotRun(reportError(error));
  }
}

/** An unknown language or snippet, or files that a program cannot have. */
function isRefusedArgument({ code }: BridgeError): boolean {
  return code === 'ARGUMENT_INVALID' || code === 'USAGE_INVALID' || code === 'CALL_REFUSED';
}

function describe(maxTimeoutSeconds: number, { runsPrograms, continueSession }: Forms): ToolDefinition {
  const text = { type: 'string' } as const;
  const session = 'Run Python in the started executer; state persists.';
  const program =
    'Run a program once in a new sandbox without network: either `language` with `entrypoint_code`, or `snippet_name`.';
  const description = runsPrograms
    ? [program, ...(continueSession === undefined ? [] : [`\`code\` alone: ${session}`])].join(' ')
    : session;
  return {
    name: 'execute_code',
    description,
    inputSchema: {
      type: 'object',
      properties: {
        ...(continueSession !== undefined && { code: text }),
        ...(runsPrograms && {
          language: { type: 'string', description: 'javascript, typescript, go, bash or python' },
          entrypoint_code: text,
          entrypoint_filename: text,
          additional_files: {
            type: 'array',
            items: {
              type: 'object',
              properties: { filename: text, content: text },
              required: ['filename', 'content'],
            },
          },
          snippet_name: text,
        }),
        timeout: { type: 'integer', minimum: 1, maximum: maxTimeoutSeconds, description: 'seconds' },
      },
      ...(!runsPrograms && { required: ['code'] }),
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
}
