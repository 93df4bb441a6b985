/**
 * Calls that became tasks (extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28, SEP-2663): the client asks for their state and
 * replies to their questions, and the model waits for neither.
 */
import { randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, type Result } from '@modelcontextprotocol/server';
import { isObject } from '../../core/base/is-object.ts';
import { TASKS_EXTENSION } from './introduction.ts';

/** An answer that comes within this time needs no task. Chosen. */
export const TASK_AFTER_MS = 5_000;
/** Tasks of one client. If there are more, their calls wait for the end. Each result has up to 6 MB. Chosen. */
const MAX_TASKS = 16;
/** How long a task is kept: as long as a cell may run. */
const TTL_MS = 24 * 3_600_000;
const POLL_MS = 2_000;
const ID_BYTES = 32;

/** How a call stands, in the words of the extension. */
export type TaskState =
  | { readonly status: 'working'; readonly statusMessage?: string }
  | { readonly status: 'input_required'; readonly inputRequests: Readonly<Record<string, unknown>> }
  | { readonly status: 'completed'; readonly result: Result }
  | { readonly status: 'failed'; readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: 'cancelled' };

/** What a task needs of its call. */
export interface TaskCall {
  state(): TaskState;
  /** When the state changed last, in ms since 1970. */
  readonly changedAt: number;
  readonly isOver: boolean;
  takeReplies(replies: Readonly<Record<string, unknown>>): void;
  cancel(reason: unknown): void;
}

interface Task {
  readonly id: string;
  readonly call: TaskCall;
  readonly createdAt: number;
  /** Whether the client has got its end. */
  isFetched: boolean;
}

/** The tasks of one client, on all its connections. */
export class Tasks {
  readonly #byId = new Map<string, Task>();

  /** The answer to a call that becomes a task; undefined if there are too many. */
  create(call: TaskCall): Result | undefined {
    this.#makeRoom();
    if (this.#byId.size >= MAX_TASKS) {
      return undefined;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    const task = { id, call, createdAt: Date.now(), isFetched: false };
    this.#byId.set(id, task);
    return { resultType: 'task', status: call.state().status, ...factsOf(task) };
  }

  /** `tasks/get`. Throws -32602 for an unknown task, as do the others. */
  get(params: unknown): Result {
    const task = this.#find(params);
    task.isFetched = task.call.isOver;
    return { ...factsOf(task), ...task.call.state() };
  }

  /** `tasks/update`: replies to questions. */
  update(params: unknown, replies: Readonly<Record<string, unknown>> | undefined): Result {
    const { call } = this.#find(params);
    if (replies === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, '`inputResponses` must be an object.');
    }
    call.takeReplies(replies);
    return {};
  }

  /** `tasks/cancel`. Nothing happens if it has ended. */
  cancel(params: unknown): Result {
    this.#find(params).call.cancel('the client cancelled the task');
    return {};
  }

  #find(params: unknown): Task {
    const id = isObject(params) ? params['taskId'] : undefined;
    const task = typeof id === 'string' ? this.#byId.get(id) : undefined;
    if (task === undefined) {
      const why = 'There is no such task: it is unknown, has expired, or an earlier process of the bridge had it.';
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, why);
    }
    return task;
  }

  /** Forgets what has expired, and if that is not enough, the oldest one whose end the client has. */
  #makeRoom(): void {
    const ended = [...this.#byId.values()].filter(({ call }) => call.isOver);
    const expired = ended.filter(({ createdAt }) => Date.now() - createdAt > TTL_MS);
    const fetched = this.#byId.size - expired.length < MAX_TASKS ? undefined : ended.find(({ isFetched }) => isFetched);
    [...expired, ...(fetched === undefined ? [] : [fetched])].forEach(({ id }) => this.#byId.delete(id));
  }
}

function factsOf({ call, createdAt, id }: Task) {
  return {
    taskId: id,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(Math.max(createdAt, call.changedAt)).toISOString(),
    ttlMs: TTL_MS,
    pollIntervalMs: POLL_MS,
  };
}

/** Whether the capabilities of a client have the extension. */
export function declaresTasks(capabilities: unknown): boolean {
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** The refusal of a request about tasks from a client that does not declare them. */
export function noTasks(method: string): ProtocolError {
  const why = `${method} needs the capability ${TASKS_EXTENSION} of the client.`;
  const requiredCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };
  return new ProtocolError(ProtocolErrorCode.MissingRequiredClientCapability, why, { requiredCapabilities });
}
