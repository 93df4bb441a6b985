/** What the user is told when a server fails: which server, what happened, the end of its stderr, what to do next. */
import { BridgeError, type ErrorCode, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/is-object.ts';
import { MAX_RESULT_BYTES } from '../base/limits.ts';
import type { UpstreamDefinition } from '../base/server-definition.ts';
import { hintForDocker } from './explain-docker.ts';
import {
  describeServerEnd,
  exitData,
  explainDownload,
  explainSpawn,
  hintForSpawn,
  quoteStderr,
  runByHand,
} from './explain-process.ts';
import { explainRemote } from './explain-remote.ts';
import type { RemoteFailure } from './http/remote-failure.ts';
import { ANSWER_BROKEN, LINE_TOO_LONG, NESTED_TOO_DEEP } from './message-intake.ts';
import type { RequestError } from './requests.ts';
import { createMask } from './secrets.ts';
import type { ServerExit } from './server-process.ts';

const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;
const SAYS_UNKNOWN_TOOL = /unknown tool|no such tool|\btool\b.*\bnot found|not found\b.*\btool\b/i;

interface Details {
  readonly hint?: string | undefined;
  readonly data?: JsonObject;
  readonly cause?: unknown;
}

/** Why a server that runs cannot be used. */
export interface NotReady {
  readonly reason: string;
  /** Whether it only did not answer in time. */
  readonly isLate?: boolean;
}

/** The errors of one server. Every text has passed the mask of its secrets. */
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
    return this.#fail('SERVER_START_FAILED', `could not be started: ${explainSpawn(definition, cause)}`, {
      hint: hintForSpawn(definition, cause),
      cause,
    });
  }

  /** `SERVER_START_FAILED`: the process ended before it was ready. */
  endedAtStart(exit: ServerExit, stderrTail: string): BridgeError {
    return this.#fail('SERVER_START_FAILED', `ended while it was starting${describeServerEnd(exit, stderrTail)}`, {
      hint: this.#nextStep(stderrTail),
      data: exitData(exit),
    });
  }

  /** `SERVER_START_FAILED`: it runs but does not speak MCP, or not in time. */
  notReady({ reason, isLate }: NotReady, stderrTail: string): BridgeError {
    const definition = this.#definition;
    const cause = isLate === true && definition.url === undefined ? explainDownload(definition) : '';
    return this.#fail('SERVER_START_FAILED', `started but is not usable: ${reason}${quoteStderr(stderrTail)}`, {
      hint: `${cause}${this.#nextStep(stderrTail)}`,
    });
  }

  /** As the last failure: it is not tried again yet. */
  backingOff(last: BridgeError, failures: number, waitMs: number): BridgeError {
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    const message = `failed ${failures} times in a row and is tried again in ${seconds} s. Last: ${last.message}`;
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

  /** `SERVER_EXITED`: it ended while calls were in flight. */
  exited(exit: ServerExit, stderrTail: string): BridgeError {
    if (this.#definition.url !== undefined) {
      return this.#fail('SERVER_EXITED', 'closed the connection before it answered', {
        hint: 'The next call connects again. The call may have had an effect.',
      });
    }
    return this.#fail('SERVER_EXITED', `ended before it answered${describeServerEnd(exit, stderrTail)}`, {
      hint: 'The next call starts it again. The call may have had an effect before the server ended.',
      data: exitData(exit),
    });
  }

  /** `CALL_TIMEOUT`; `tool` is undefined for the list of tools. */
  timedOut(tool: string | undefined, timeoutMs: number, isStarting: boolean): BridgeError {
    const what = isStarting ? 'was still starting' : `did not answer ${nameOf(tool)}`;
    const { name, file } = this.#definition;
    return this.#fail('CALL_TIMEOUT', `${what} after ${timeoutMs / 1000} s, the deadline of the call`, {
      hint: `Give the call more time, or raise "timeout" (seconds) of '${name}' in ${file}.`,
      data: { tool },
    });
  }

  /** `CALL_CANCELLED`; `tool` is undefined for the list of tools. */
  cancelled(tool: string | undefined): BridgeError {
    return this.#fail('CALL_CANCELLED', `did not finish ${nameOf(tool)}: the call was cancelled`, {
      data: { tool },
    });
  }

  /** `CAPABILITY_MISSING`: it does not offer what was asked for. */
  lacks(capability: string, offered: readonly string[]): BridgeError {
    return this.#fail('CAPABILITY_MISSING', `offers no ${capability}`, {
      hint: `It offers ${offered.length === 0 ? 'nothing that it names' : offered.join(', ')}.`,
      data: { capability },
    });
  }

  /** The server's own error, or an answer that is none: `TOOL_UNKNOWN`, `TOOL_FAILED`, `LIMIT_RESULT`, `SERVER_PROTOCOL`. */
  ofRequest(error: RequestError, tool: string | undefined): BridgeError {
    const data = { tool, rpc_code: error.code };
    if (error.kind !== 'rpc' || error.code === NESTED_TOO_DEEP || error.code === ANSWER_BROKEN) {
      const message = `gave no usable answer to ${nameOf(tool)}: ${error.message}`;
      return this.#fail('SERVER_PROTOCOL', message, { data: { tool }, cause: error });
    }
    if (error.code === LINE_TOO_LONG) {
      return this.#fail('LIMIT_RESULT', `answered ${nameOf(tool)} with ${error.message}`, {
        hint: 'Ask for less: a filter, a page, a smaller file.',
        data: { tool, limit_bytes: MAX_RESULT_BYTES },
      });
    }
    const isInvalid = error.code === INVALID_PARAMS || error.code === METHOD_NOT_FOUND;
    if (tool !== undefined && isInvalid && SAYS_UNKNOWN_TOOL.test(error.message)) {
      const hint = `Look up its tools: await runtime.query_tool_docs('${this.#definition.name}')`;
      return this.#fail('TOOL_UNKNOWN', `has no tool '${tool}'`, { hint, data, cause: error });
    }
    return this.#fail('TOOL_FAILED', `refused ${nameOf(tool)}: ${error.message}`, { data, cause: error });
  }

  /** Anything else that was thrown: itself if it is a `BridgeError`, else `INTERNAL`. */
  ofUnknown(error: unknown): BridgeError {
    return error instanceof BridgeError ? error : this.#fail('INTERNAL', `: ${messageOf(error)}`, { cause: error });
  }

  #fail(code: ErrorCode, message: string, { hint, data, cause }: Details): BridgeError {
    return new BridgeError(code, this.#mask(`server '${this.#definition.name}' ${message}`), {
      hint: hint === undefined ? undefined : this.#mask(hint),
      data: { server: this.#definition.name, ...data },
      cause,
    });
  }

  #nextStep(stderrTail: string): string {
    const definition = this.#definition;
    return definition.url === undefined
      ? (hintForDocker(definition, stderrTail) ?? runByHand(definition, this.#mask))
      : `Check "url" of '${definition.name}' in ${definition.file}.`;
  }
}

function nameOf(tool: string | undefined): string {
  return tool === undefined ? 'tools/list' : `'${tool}'`;
}
