/** Error messages for failing servers: which server, what happened, the end of its stderr, and the next step. */
import { existsSync } from 'node:fs';
import { BridgeError, type ErrorCode, messageOf } from '../../core/base/errors.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import { MAX_RESULT_BYTES } from '../../core/base/limits.ts';
import { escapeInLines } from '../../core/base/log.ts';
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import type { RequestError } from '../../core/protocol/server-requests.ts';
import { readErrorData } from './error-data.ts';
import { hintForDocker, hintForGateway } from './explain-docker.ts';
import {
  describeServerEnd,
  exitData,
  explainDownload,
  explainSpawn,
  hintForOldSdk,
  hintForSpawn,
  quoteStderr,
  quoteStray,
  runByHand,
} from './explain-process.ts';
import { explainRemote } from './explain-remote.ts';
import type { RemoteFailure } from './http/remote-failure.ts';
import { ANSWER_BROKEN, LINE_TOO_LONG, NESTED_TOO_DEEP } from './message-intake.ts';
import { createMask } from './secrets.ts';
import type { ServerExit } from './server-process.ts';

const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;
/** A server may write 160 MiB. Messages are logged and shown at terminals. Chosen. */
const MAX_MESSAGE_CHARS = 20_000;
/** Of a message, this much is searched: in a long one, the search could take hours. */
const SEARCHED_CHARS = 1_000;
const SAYS_UNKNOWN_TOOL = /unknown tool|no such tool|\btool\b.*\bnot found|not found\b.*\btool\b/i;

interface Details {
  readonly hint?: string | undefined;
  readonly data?: JsonObject;
  readonly cause?: unknown;
}

/** Why a running server cannot be used. */
export interface NotReady {
  readonly reason: string;
  /** Whether the only problem is that it did not answer in time. */
  readonly isLate?: boolean;
}

/** Creates the errors of one server. Secrets are masked in every text. */
export class Failures {
  readonly #definition: UpstreamDefinition;
  readonly #mask: (text: string) => string;

  constructor(definition: UpstreamDefinition) {
    this.#definition = definition;
    this.#mask = createMask(definition);
  }

  /** `SERVER_START_FAILED`: the operating system could not start the command. */
  notSpawned(cause: unknown): BridgeError {
    const definition = this.#definition;
    if (definition.url !== undefined) {
      return this.ofUnknown(cause);
    }
    const hasFolder = definition.cwd === undefined || existsSync(definition.cwd);
    const reason = explainSpawn(definition, cause, hasFolder);
    return this.#fail('SERVER_START_FAILED', `could not be started: ${reason}`, {
      hint: hintForSpawn(definition, cause, hasFolder),
      cause,
    });
  }

  /** `SERVER_START_FAILED`: the process exited before it was ready. `strayText` is what it wrote instead of a message. */
  endedAtStart(exit: ServerExit, stderrTail: string, strayText: string | undefined): BridgeError {
    const what = `exited while it was starting${describeServerEnd(exit, '')}`;
    return this.#fail('SERVER_START_FAILED', `${what}${quoteStray(strayText)}${quoteStderr(stderrTail)}`, {
      hint: this.#nextStep(stderrTail, strayText),
      data: exitData(exit),
    });
  }

  /** `SERVER_START_FAILED`: the server runs, but did not answer in time or gave no usable answer. */
  notReady({ reason, isLate }: NotReady, stderrTail: string, strayText?: string): BridgeError {
    const definition = this.#definition;
    const isQuiet = isLate === true && strayText === undefined;
    const cause = isQuiet && definition.url === undefined ? explainDownload(definition) : '';
    const what = `started but cannot be used: ${reason}${quoteStray(strayText)}`;
    return this.#fail('SERVER_START_FAILED', `${what}${quoteStderr(stderrTail)}`, {
      hint: `${cause}${this.#nextStep(stderrTail, strayText)}`,
    });
  }

  /** `SERVER_START_FAILED`: what describes an API cannot be used. */
  noDescription(reason: string): BridgeError {
    const { api, file, name } =
      this.#definition.url === undefined ? { ...this.#definition, api: undefined } : this.#definition;
    return this.#fail('SERVER_START_FAILED', `has no usable description: ${reason}`, {
      hint: /HTTP 40[13]/.test(reason)
        ? `Add a credential to "headers" of '${name}' in ${file}, or correct it.`
        : `Correct "${api?.kind ?? 'openapi'}" of '${name}' in ${file}.`,
    });
  }

  /** `SERVER_START_FAILED`: the program does something else than speak MCP. */
  notMcp(reason: string): BridgeError {
    return this.#fail('SERVER_START_FAILED', `is not an MCP server: ${reason}`, { hint: this.#correctCommand() });
  }

  /** Repeats the last failure, because it is too early for another attempt. */
  backingOff(last: BridgeError, failures: number, waitMs: number): BridgeError {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    const message = `failed ${failures} times in a row and can be started again in ${seconds} s. Last error: ${last.message}`;
    return this.#fail(last.code === 'SERVER_EXITED' ? 'SERVER_START_FAILED' : last.code, message, {
      hint: last.hint,
      data: { ...last.data, retry_in_seconds: seconds },
      cause: last,
    });
  }

  /** `SERVER_UNREACHABLE`, `SERVER_PROTOCOL` or `LOGIN_REQUIRED`: the network, or a remote server, failed. */
  ofRemote(failure: RemoteFailure, isCall: boolean): BridgeError {
    if (this.#definition.url === undefined) {
      return this.ofUnknown(failure);
    }
    const { code, hint } = explainRemote(this.#definition, failure, { isCall, env: process.env });
    return this.#fail(code, failure.message, { hint, data: { http_status: failure.status }, cause: failure });
  }

  /** `SERVER_EXITED`: the server exited while calls were in flight. */
  exited(exit: ServerExit, stderrTail: string): BridgeError {
    if (this.#definition.url !== undefined) {
      return this.#fail('SERVER_EXITED', 'closed the connection before it answered', {
        hint: 'The next call reconnects. This call may have had an effect.',
      });
    }
    return this.#fail('SERVER_EXITED', `exited before it answered${describeServerEnd(exit, stderrTail)}`, {
      hint: 'The next call restarts the server. This call may have had an effect before the server exited.',
      data: exitData(exit),
    });
  }

  /** `CALL_TIMEOUT`. `tool` is undefined for the tool list. */
  timedOut(tool: string | undefined, timeoutMs: number, isStarting: boolean): BridgeError {
    const why = isStarting ? ': it was still starting' : '';
    const { name, file } = this.#definition;
    return this.#fail(
      'CALL_TIMEOUT',
      `did not answer ${nameOf(tool)} after ${timeoutMs / 1000} s, the deadline of the call${why}`,
      {
        hint: `Give the call more time, or raise "timeout" (seconds) of '${name}' in ${file}.`,
        data: { tool },
      },
    );
  }

  /** `CALL_CANCELLED`. `tool` is undefined for the tool list. */
  cancelled(tool: string | undefined): BridgeError {
    return this.#fail('CALL_CANCELLED', `did not finish ${nameOf(tool)}: the call was cancelled`, {
      data: { tool },
    });
  }

  /** `CAPABILITY_MISSING`: the server did not declare the capability. */
  lacks(capability: string, offered: readonly string[]): BridgeError {
    return this.#fail('CAPABILITY_MISSING', `offers no ${capability}`, {
      hint: offered.length === 0 ? 'It declares no capabilities.' : `It offers ${offered.join(', ')}.`,
      data: { capability },
    });
  }

  /** A JSON-RPC error, or an unusable answer: `TOOL_UNKNOWN`, `TOOL_FAILED`, `LIMIT_RESULT`, `SERVER_PROTOCOL`. */
  ofRequest(error: RequestError, tool: string | undefined): BridgeError {
    const { said, kept } = readErrorData(error.data, error.message, this.#mask);
    const data = { tool, rpc_code: error.code, ...kept };
    if (error.kind !== 'rpc' || error.code === NESTED_TOO_DEEP || error.code === ANSWER_BROKEN) {
      const message = `gave no usable answer to ${nameOf(tool)}: ${error.message}`;
      return this.#fail('SERVER_PROTOCOL', message, { data: { tool }, cause: error });
    }
    if (error.code === LINE_TOO_LONG) {
      return this.#fail('LIMIT_RESULT', `answered ${nameOf(tool)} with ${error.message}`, {
        hint: 'Request less data: use a filter, a page or a smaller file.',
        data: { tool, limit_bytes: MAX_RESULT_BYTES },
      });
    }
    const isInvalid = error.code === INVALID_PARAMS || error.code === METHOD_NOT_FOUND;
    if (tool !== undefined && isInvalid && SAYS_UNKNOWN_TOOL.test(error.message.slice(0, SEARCHED_CHARS))) {
      const hint = `Look up its tools: await runtime.query_tool_docs('${this.#definition.name}')`;
      return this.#fail('TOOL_UNKNOWN', `has no tool '${tool}'`, { hint, data, cause: error });
    }
    const hint = hintForGateway(this.#definition, error.message.slice(0, SEARCHED_CHARS));
    return this.#fail('TOOL_FAILED', `refused ${nameOf(tool)}: ${error.message}${said}`, { hint, data, cause: error });
  }

  /** Any other error: returned unchanged if it is a `BridgeError`, otherwise wrapped as `INTERNAL`. */
  ofUnknown(error: unknown): BridgeError {
    return error instanceof BridgeError
      ? error
      : this.#fail('INTERNAL', `failed: ${messageOf(error)}`, { cause: error });
  }

  #fail(code: ErrorCode, message: string, { hint, data, cause }: Details): BridgeError {
    // Masked before it is cut, because half a secret would not be recognized.
    const masked = this.#mask(`server '${this.#definition.name}' ${message}`);
    const shown = masked.length > MAX_MESSAGE_CHARS ? `${masked.slice(0, MAX_MESSAGE_CHARS)}…` : masked;
    return new BridgeError(code, escapeInLines(shown), {
      hint: hint === undefined ? undefined : this.#mask(hint),
      data: { server: this.#definition.name, ...data },
      cause,
    });
  }

  #nextStep(stderrTail: string, strayText?: string): string {
    const definition = this.#definition;
    if (definition.url !== undefined) {
      return `Check "url" of '${definition.name}' in ${definition.file}.`;
    }
    const known = hintForDocker(definition, stderrTail) ?? hintForOldSdk(definition, stderrTail);
    const byHand = known ?? runByHand(definition, this.#mask);
    return strayText === undefined ? byHand : `${this.#correctCommand()} ${byHand}`;
  }

  #correctCommand(): string {
    const { name, file } = this.#definition;
    return `Check "command" and "args" of '${name}' in ${file}: an MCP server writes only JSON-RPC messages to stdout.`;
  }
}

function nameOf(tool: string | undefined): string {
  return tool === undefined ? 'tools/list' : `'${tool}'`;
}
