/** `run_program`: how cells run programs, which may call the servers of the cell's session through the same gates. */
import { z } from 'zod';
import { CancelSource } from '../../core/base/cancel.ts';
import { BridgeError } from '../../core/base/errors.ts';
import type { ProgramRequest, ProgramResult } from '../../core/base/program.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import type { CatalogServer } from '../../core/catalog/known.ts';
import type { ServerDirectory } from '../../core/directory/server-directory.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { CallContext, HandleCall } from '../../core/session/dispatch.ts';
import type { CellIdentity } from '../../core/session/events.ts';
import { MAX_ARGUMENTS, MAX_FILES } from './limits.ts';
import type { RunOptions } from './run-program.ts';
import type { CallOfProgram } from './runner-program.ts';
import { meantName, type ToolValue, valueOfResult } from './tool-values.ts';

const MAX_NAME_CHARS = 1_000;
const name = z.string().min(1).max(MAX_NAME_CHARS);
const base64 = z.string().base64();
const RunProgramParams = z
  .strictObject({
    language: name.optional(),
    code: z.string().optional(),
    file_name: name.optional(),
    snippet: name.optional(),
    files: z
      .array(z.strictObject({ name: z.string(), content: base64 }))
      .max(MAX_FILES)
      .default([]),
    args: z.array(z.string()).max(MAX_ARGUMENTS).default([]),
    stdin: base64.default(''),
    timeout: z.number().positive().optional(),
    wants_files: z.boolean().default(false),
  })
  .refine(
    ({ code, language, snippet }) =>
      snippet === undefined ? language !== undefined && code !== undefined : code === undefined,
    'expected either a snippet, or a language and code',
  );

export interface ProgramMethodsOptions {
  /** Runs a program with what the call adds. */
  readonly run: (
    request: ProgramRequest,
    call: Pick<RunOptions, 'callTool' | 'onProgress' | 'servers' | 'session' | 'signal'>,
    cell: CellIdentity,
  ) => Promise<ProgramResult>;
  /** Answers the calls of the program as those of its cell. */
  readonly handleCall: HandleCall;
  readonly directory: Pick<ServerDirectory, 'servers' | 'tools'>;
}

export function programMethods({ run, handleCall, directory }: ProgramMethodsOptions): [CallMethod, Method][] {
  const runProgram = checked(RunProgramParams, async (params, context) => {
    const request: ProgramRequest = {
      source:
        params.snippet === undefined
          ? { kind: 'code', language: params.language ?? '', code: params.code ?? '', fileName: params.file_name }
          : { kind: 'snippet', name: params.snippet },
      files: params.files.map((file) => ({ name: file.name, content: Buffer.from(file.content, 'base64') })),
      args: params.args,
      stdin: Buffer.from(params.stdin, 'base64'),
      timeoutMs: params.timeout === undefined ? undefined : Math.round(params.timeout * 1000),
      wantsFiles: params.wants_files,
    };
    const loaded = directory.servers().filter((server) => context.loaded.has(server.name));
    const { cell, generation, session } = context;
    const call = {
      session,
      signal: context.signal,
      onProgress: ({ message, percent }) =>
        context.onToolProgress?.({ tool: 'run', message, progress: percent ?? 0, total: 100 }),
      servers: loaded.map((server) => ({ name: server.name, alias: server.alias })),
      callTool: (wanted: CallOfProgram, ended: CancelSource) =>
        callForProgram(wanted, ended, { context, handleCall, directory }),
    } satisfies Parameters<ProgramMethodsOptions['run']>[1];
    return asAnswer(await run(request, call, { cell, generation, session }));
  });
  return [['run_program', runProgram]];
}

interface CallParts extends Pick<ProgramMethodsOptions, 'directory' | 'handleCall'> {
  readonly context: CallContext;
}

async function callForProgram(
  { server: writtenServer, tool: writtenTool, arguments: given }: CallOfProgram,
  ended: CancelSource,
  { context, handleCall, directory }: CallParts,
): Promise<ToolValue> {
  if (context.isOver?.(context) === true) {
    throw new BridgeError('CALL_REFUSED', 'the cell or the job that started this program has ended', {
      hint: 'Await the program in its cell, or start it in a background job.',
    });
  }
  const { signal, stop } = either(context.signal, ended);
  try {
    const server = meantName(directory.servers(), writtenServer);
    const known = directory.servers().find((one) => one.name === server);
    const tool =
      known === undefined ? writtenTool : await meantTool(known, writtenTool, { context, directory, signal });
    const params = { server, tool, arguments: given };
    const call = context.nextNumber?.() ?? context.call;
    const result = await handleCall({ method: 'call_tool', params }, { ...context, call, signal, takesBytes: true });
    return valueOfResult(result, `${server}.${tool}`);
  } finally {
    stop();
  }
}

/** A server that is not loaded, or does not answer, refuses the call itself, which records it. */
async function meantTool(
  server: CatalogServer,
  written: string,
  { context, directory, signal }: Pick<CallParts, 'context' | 'directory'> & Pick<CallContext, 'signal'>,
): Promise<string> {
  if (!context.loaded.has(server.name)) {
    return written;
  }
  try {
    return meantName(await directory.tools(server, signal), written);
  } catch {
    return written;
  }
}

/** Aborts when one of two does. */
function either(one: CallContext['signal'], other: CallContext['signal']) {
  const source = new CancelSource();
  const abort = (): void => source.abort();
  const both = [one, other];
  for (const each of both) {
    each.addEventListener('abort', abort, { once: true });
  }
  if (both.some(({ aborted }) => aborted)) {
    abort();
  }
  return {
    signal: source.signal,
    stop: () => both.forEach((each) => each.removeEventListener('abort', abort)),
  };
}

function asAnswer(result: ProgramResult) {
  return {
    status: result.status,
    exit_code: result.exitCode ?? null,
    stdout: result.stdout,
    stderr: result.stderr,
    dropped_bytes: result.droppedBytes,
    duration_ms: result.durationMs,
    files: result.files.map((file) => ({
      name: file.name,
      content: Buffer.from(file.content).toString('base64'),
    })),
  };
}
