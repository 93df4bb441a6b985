/**
 * Calls that became tasks: the client asks for their state and replies to their questions, and the model waits for neither. Here are what
 * both eras share, and the extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28 (SEP-2663); see `legacy-tasks.ts` for 2025-11-25.
 */
import { randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, type Result } from '@modelcontextprotocol/server';
import { isObject } from '../../core/base/is-object.ts';
import { TASKS_EXTENSION } from './introduction.ts';

/** An answer that comes within this time needs no task. Chosen. */
export const TASK_AFTER_MS = 5_000;
/** Tasks of one client. If there are more, calls do not become tasks. Each result has up to 6 MB. Chosen. */
const MAX_TASKS = 16;
/** How long a task is kept: as long as a cell may run. */
export const TTL_MS = 24 * 3_600_000;
export const POLL_MS = 2_000;
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
  cancel(reason: unknown): void;
}

export interface Task<Call extends TaskCall> {
  readonly id: string;
  readonly call: Call;
  readonly createdAt: number;
  /** Whether the client has got its end. */
  isFetched: boolean;
}

/** The tasks of one client, on all its connections. */
export class TaskStore<Call extends TaskCall> {
  readonly #byId = new Map<string, Task<Call>>();

  /** Undefined if there are too many. */
  add(call: Call): Task<Call> | undefined {
    this.#makeRoom();
    if (this.#byId.size >= MAX_TASKS) {
      return undefined;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    const task = { id, call, createdAt: Date.now(), isFetched: false };
    this.#byId.set(id, task);
    return task;
  }

  all(): readonly Task<Call>[] {
    return [...this.#byId.values()];
  }

  /** The task that the parameters of a request name. Throws -32602 if there is none. */
  find(params: unknown): Task<Call> {
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
    const ended = this.all().filter(({ call }) => call.isOver);
    const expired = ended.filter(({ createdAt }) => Date.now() - createdAt > TTL_MS);
    const fetched = this.#byId.size - expired.length < MAX_TASKS ? undefined : ended.find(({ isFetched }) => isFetched);
    [...expired, ...(fetched === undefined ? [] : [fetched])].forEach(({ id }) => this.#byId.delete(id));
  }
}

/** What a task is in both eras. */
export function factsOf({ call, createdAt, id }: Task<TaskCall>) {
  return {
    taskId: id,
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(Math.max(createdAt, call.changedAt)).toISOString(),
  };
}

const TIMES = { ttlMs: TTL_MS, pollIntervalMs: POLL_MS };

/** A call of 2026-07-28, whose questions the client fetches. */
interface ModernCall extends TaskCall {
  takeReplies(replies: Readonly<Record<string, unknown>>): void;
}

/** The tasks of a client of 2026-07-28. */
export class Tasks {
  readonly #store = new TaskStore<ModernCall>();

  /** The answer to a call that becomes a task; undefined if there are too many. */
  create(call: ModernCall): Result | undefined {
    const task = this.#store.add(call);
    return task && { resultType: 'task', status: call.state().status, ...factsOf(task), ...TIMES };
  }

  /** `tasks/get`. Throws -32602 for an unknown task, as do the others. */
  get(params: unknown): Result {
    const task = this.#store.find(params);
    task.isFetched = task.call.isOver;
    return { ...factsOf(task), ...TIMES, ...task.call.state() };
  }

  /** `tasks/update`: replies to questions. */
  update(params: unknown, replies: Readonly<Record<string, unknown>> | undefined): Result {
    const { call } = this.#store.find(params);
    if (replies === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, '`inputResponses` must be an object.');
    }
    call.takeReplies(replies);
    return {};
  }

  /** `tasks/cancel`. Nothing happens if it has ended. */
  cancel(params: unknown): Result {
    this.#store.find(params).call.cancel('the client cancelled the task');
    return {};
  }
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
