/**
 * A program that is no MCP server, used like one: the connection lists its declared subcommands, and each call runs the
 * program once. Nothing runs between calls.
 */
import { isUtf8 } from 'node:buffer';
import { basename } from 'node:path';
import { Countdown } from '../../../core/base/countdown.ts';
import { createDeferred } from '../../../core/base/deferred.ts';
import type { BridgeError } from '../../../core/base/errors.ts';
import { workingFolder } from '../../../core/base/home.ts';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { limitConcurrency } from '../../../core/base/limit-concurrency.ts';
import { MAX_ARRIVING_BYTES } from '../../../core/base/limits.ts';
import type { ProcessDefinition } from '../../../core/base/server-definition.ts';
import { counted } from '../../../core/base/units.ts';
import { startableCommand } from '../../../core/base/windows.ts';
import { RequestError } from '../../../core/protocol/server-requests.ts';
import { childEnvironment } from '../child-env.ts';
import type { ConnectOptions, ServerConnection, ServerInfo } from '../connection.ts';
import { Failures } from '../failures.ts';
import { LINE_TOO_LONG } from '../message-intake.ts';
import type { Answer, RequestLimits } from '../requests.ts';
import { createResultMask } from '../result-mask.ts';
import { createMask, secretsOf } from '../secrets.ts';
import { type ServerExit, ServerProcess } from '../server-process.ts';
import { buildCommand, type CommandRun } from './command-arguments.ts';
import { toolsOf } from './command-tools.ts';

/** The tools are listed as this version defines them. */
const PROTOCOL_VERSION = '2025-11-25';
/** Programs of one entry that run at once; further calls wait. Chosen: each costs as much as a server. */
const MAX_RUNNING = 8;
/** The largest result, as documented. */
const MAX_STDOUT_BYTES = 64 * 1024 * 1024;
/** Of stdout, so much is kept if the program fails. */
const KEPT_CHARS = 256 * 1024;
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

/** Nothing is started before the first call. */
export function openCommand(definition: ProcessDefinition, options: ConnectOptions): ServerConnection {
  options.onStep?.('started');
  return new CommandConnection(definition, options);
}

class CommandConnection implements ServerConnection {
  readonly info: ServerInfo;
  readonly exited: Promise<ServerExit>;
  readonly #definition: ProcessDefinition;
  readonly #options: ConnectOptions;
  readonly #failures: Failures;
  readonly #running = new Set<ServerProcess>();
  readonly #inTurn = limitConcurrency(MAX_RUNNING);
  readonly #gone = createDeferred<ServerExit>();
  #isOpen = true;
  #arriving = 0;

  constructor(definition: ProcessDefinition, options: ConnectOptions) {
    this.#definition = definition;
    this.#options = options;
    this.#failures = new Failures(definition);
    this.exited = this.#gone.promise;
    this.info = {
      name: definition.name,
      protocolVersion: PROTOCOL_VERSION,
      serverName: basename(definition.command),
      serverVersion: undefined,
      instructions: undefined,
      capabilities: { tools: {} },
      cwd: definition.cwd ?? workingFolder(),
      pid: undefined,
    };
  }

  isOpen(): boolean {
    return this.#isOpen;
  }

  async request(method: string, params: JsonObject, limits: RequestLimits): Promise<Answer> {
    const result = method === 'tools/list' ? this.#list() : await this.#call(method, params, limits);
    return { result, bytes: Buffer.byteLength(JSON.stringify(result)) };
  }

  async requestLine(method: string, params: JsonObject, limits: RequestLimits): Promise<Buffer> {
    const { result } = await this.request(method, params, limits);
    return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 0, result }));
  }

  failureOf(exit: ServerExit): BridgeError {
    return this.#failures.exited(exit, '');
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await Promise.all([...this.#running].map((program) => program.stop()));
    this.#gone.resolve({ exitCode: undefined, signal: undefined });
  }

  #list(): JsonObject {
    return { tools: toolsOf(this.#definition.subcommands ?? {}) };
  }

  async #call(method: string, { name, arguments: given }: JsonObject, limits: RequestLimits): Promise<JsonObject> {
    const { subcommands = {} } = this.#definition;
    if (method !== 'tools/call') {
      throw new RequestError('rpc', `there is no method ${method}`, { code: METHOD_NOT_FOUND });
    }
    const subcommand = typeof name === 'string' && Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
    if (subcommand === undefined) {
      throw new RequestError('rpc', `Unknown tool: ${String(name)}`, { code: INVALID_PARAMS });
    }
    const run = buildCommand(subcommand, isObject(given) ? given : {});
    const ending = new Ending();
    const cancel = (): void => ending.end(new RequestError('cancelled', 'cancelled by the caller'));
    const { signal, timeoutMs } = limits;
    signal?.addEventListener('abort', cancel, { once: true });
    const clock = new Countdown(timeoutMs, () => {
      ending.end(new RequestError('timeout', `no answer within ${timeoutMs} ms`));
    });
    if (signal?.aborted === true) {
      cancel();
    }
    try {
      const ended = this.#inTurn(() => this.#run(run, ending));
      // A call that still waits for its turn ends at once, and its program is then not started.
      return await Promise.race([ended, ending.promise.then((error) => Promise.reject(error))]);
    } finally {
      clock.stop();
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Runs the program until it ends, or until `ending` says why it must. */
  async #run({ args, stdin }: CommandRun, ending: Ending): Promise<JsonObject> {
    const { command, cwd, args: first } = this.#definition;
    const env = childEnvironment(this.#options.env, this.#definition);
    refuseForBatch(command, args, env);
    const chunks: Buffer[] = [];
    let bytes = 0;
    const program = new ServerProcess({
      command,
      args: [...first, ...args],
      cwd,
      env,
      guardian: this.#options.guardian,
      isJob: true,
      maskText: createMask(this.#definition),
      onOutput: (chunk) => {
        bytes += chunk.length;
        this.#arriving += chunk.length;
        if (bytes <= MAX_STDOUT_BYTES && this.#arriving <= MAX_ARRIVING_BYTES) {
          chunks.push(chunk);
        } else {
          ending.end(new RequestError('rpc', `${counted(bytes, 'byte')} or more`, { code: LINE_TOO_LONG }));
        }
      },
    });
    try {
      await this.#start(program, ending);
      program.stdin?.end(stdin);
      const exit = await Promise.race([program.exited, ending.promise]);
      if (exit instanceof RequestError) {
        throw exit;
      }
      return this.#resultOf(exit, Buffer.concat(chunks), program.lastStderrLines());
    } finally {
      this.#arriving -= bytes;
      await program.stop();
      this.#running.delete(program);
    }
  }

  async #start(program: ServerProcess, ending: Ending): Promise<void> {
    if (ending.error !== undefined || !this.#isOpen) {
      throw ending.error ?? new RequestError('closed', 'it was never started');
    }
    this.#running.add(program);
    try {
      await program.start();
    } catch (error) {
      throw this.#failures.notSpawned(error);
    }
  }

  #resultOf(exit: ServerExit, stdout: Buffer, stderr: string): JsonObject {
    const mask = createResultMask(this.#options.masksSecrets ? secretsOf(this.#definition) : []);
    const result = exit.exitCode === 0 ? resultOf(stdout) : failureOf(exit, stdout, stderr);
    return mask.mayHold(stdout) ? (mask.maskValue(result) as JsonObject) : result;
  }
}

/** Why a program must end before it has ended itself. The first reason counts. */
class Ending {
  error: RequestError | undefined;
  readonly #deferred = createDeferred<RequestError>();

  get promise(): Promise<RequestError> {
    return this.#deferred.promise;
  }

  end(error: RequestError): void {
    this.error ??= error;
    this.#deferred.resolve(this.error);
  }
}

/** Characters that cmd.exe may interpret in the arguments of a batch file, however they are escaped. */
const UNSAFE_IN_BATCH = /["%!^&|<>\r\n]/;

/** On Windows, many programs are batch files (`npm.cmd`), which only cmd.exe can run. */
function refuseForBatch(command: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
  const unsafe = args.find((word) => UNSAFE_IN_BATCH.test(word));
  if (unsafe !== undefined && process.platform === 'win32' && startableCommand(command, [], env).isVerbatim) {
    const message = `${basename(command)} is a batch file, which cannot be given the argument ${JSON.stringify(unsafe.slice(0, 100))}`;
    throw new RequestError('rpc', message, { code: INVALID_PARAMS });
  }
}

/** The kernel parses a text that is a JSON object or list (docs/internals/decisions/002-results-as-python-values.md). */
function resultOf(stdout: Buffer): JsonObject {
  if (stdout.length === 0) {
    return { content: [] };
  }
  if (!isUtf8(stdout)) {
    const resource = { uri: 'stdout:', mimeType: 'application/octet-stream', blob: stdout.toString('base64') };
    return { content: [{ type: 'resource', resource }] };
  }
  return { content: [{ type: 'text', text: stdout.toString('utf8').replace(/\r?\n$/, '') }] };
}

function failureOf({ exitCode, signal }: ServerExit, stdout: Buffer, stderr: string): JsonObject {
  const output = stdout.toString('utf8').slice(-KEPT_CHARS);
  const how = exitCode === undefined ? `ended by ${signal ?? 'a signal'}` : `exit ${exitCode}`;
  const said = stderr === '' ? output.trim().slice(-2_000) : stderr;
  return {
    isError: true,
    content: [{ type: 'text', text: said === '' ? how : `${how}: ${said}` }],
    structuredContent: { exit_code: exitCode ?? null, stdout: output, stderr },
  };
}
