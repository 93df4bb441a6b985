/**
 * Calls that became tasks: the client asks for their state and replies to their questions, and the model waits for neither. Here are what
 * both eras share, and the extension `io.modelcontextprotocol/tasks` of MCP 2026-07-28 (SEP-2663); see `legacy-tasks.ts` for 2025-11-25.
 */
import { randomBytes } from 'node:crypto';
import { ProtocolError, ProtocolErrorCode, type Result } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { isObject } from '../../core/base/is-object.ts';
import { type KeptTasks, TASK_TTL_MS } from '../../core/session/kept-tasks.ts';
import { TASKS_EXTENSION } from './introduction.ts';

/** An answer that comes within this time needs no task. Chosen. */
export const TASK_AFTER_MS = 5_000;
/** Tasks of one client. If there are more, calls do not become tasks. Each result has up to 6 MB. Chosen. */
const MAX_TASKS = 16;
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
  /** Resolves when it is over and nothing of its state changes any more. */
  readonly ended: Promise<void>;
  cancel(reason: unknown): void;
}

const CUT_OFF =
  'The task was cut off: the process of the bridge that ran it has ended. The next answer of its session says what is left.';
const FailureSchema = z.object({ code: z.int(), message: z.string() });
const EndSchema = z.discriminatedUnion('status', [
  z.object({ status: z.literal('completed'), result: z.looseObject({}) }),
  z.object({ status: z.literal('failed'), error: FailureSchema }),
  z.object({ status: z.literal('cancelled') }),
]);

/** The call of a task that an earlier process has had. */
export class PastCall implements TaskCall {
  readonly isOver = true;
  readonly ended = Promise.resolve();
  readonly changedAt: number;
  readonly #state: z.infer<typeof EndSchema>;

  /** @param state as it was kept. If that is no end, the process has ended first. */
  constructor(state: unknown, changedAt: number) {
    const read = EndSchema.safeParse(state);
    this.#state = read.data ?? {
      status: 'failed',
      error: { code: ProtocolErrorCode.InternalError, message: CUT_OFF },
    };
    this.changedAt = changedAt;
  }

  state(): TaskState {
    return this.#state;
  }

  cancel(): void {}

  takeReplies(): void {}

  async wait(): Promise<Result> {
    const state = this.#state;
    if (state.status === 'completed') {
      return state.result;
    }
    const { code, message } =
      state.status === 'failed'
        ? state.error
        : { code: ProtocolErrorCode.InvalidRequest, message: 'The task was cancelled.' };
    throw new ProtocolError(code, message);
  }
}

export interface Task<Call extends TaskCall> {
  readonly id: string;
  readonly call: Call;
  readonly createdAt: number;
  /** Whether the client has got its end. */
  isFetched: boolean;
  /** Resolves when later processes know its newest state. */
  kept?: Promise<void>;
}

/** The tasks of one client, on all its connections. */
export class TaskStore<Call extends TaskCall> {
  readonly #byId = new Map<string, Task<Call>>();
  readonly #kept: KeptTasks | undefined;

  /** @param kept what later processes know; nothing by default. */
  constructor(kept: KeptTasks | undefined) {
    this.#kept = kept;
  }

  /** Undefined if there are too many. Resolves when a later process would know it. */
  async add(call: Call): Promise<Task<Call> | undefined> {
    this.#makeRoom();
    if (this.#byId.size >= MAX_TASKS) {
      return undefined;
    }
    const id = randomBytes(ID_BYTES).toString('base64url');
    const task = { id, call, createdAt: Date.now(), isFetched: false };
    this.#byId.set(id, task);
    await this.#keep(task);
    void call.ended.then(() => this.#keep(task));
    return task;
  }

  #keep(task: Task<Call>): Promise<void> {
    task.kept = this.#write(task);
    return task.kept;
  }

  /** If that fails, the task lives as long as the process. */
  async #write({ call, createdAt, id }: Task<Call>): Promise<void> {
    await this.#kept?.write(id, { createdAt, changedAt: call.changedAt, state: call.state() }).catch(() => undefined);
  }

  forget({ id }: Task<Call>): void {
    this.#byId.delete(id);
  }

  all(): readonly Task<Call>[] {
    return [...this.#byId.values()];
  }

  /** The task that the parameters of a request name. Rejects with -32602 if there is none. */
  async find(params: unknown): Promise<Task<Call | PastCall>> {
    const id = isObject(params) ? params['taskId'] : undefined;
    const task = typeof id === 'string' ? (this.#byId.get(id) ?? (await this.#findKept(id))) : undefined;
    if (task === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task: it is unknown, or has expired.');
    }
    // What a client has been told holds for later processes, too.
    await task.kept;
    return task;
  }

  async #findKept(id: string): Promise<Task<PastCall> | undefined> {
    const kept = await this.#kept?.read(id);
    if (kept?.isElsewhere === true && !EndSchema.safeParse(kept.state).success) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        'Another process of the bridge runs this task. Ask that.',
      );
    }
    return kept && { id, call: new PastCall(kept.state, kept.changedAt), createdAt: kept.createdAt, isFetched: true };
  }

  /** Forgets what has expired, and if that is not enough, the oldest one whose end the client has. */
  #makeRoom(): void {
    const ended = this.all().filter(({ call }) => call.isOver);
    const expired = ended.filter(({ createdAt }) => Date.now() - createdAt > TASK_TTL_MS);
    const fetched = this.#byId.size - expired.length < MAX_TASKS ? undefined : ended.find(({ isFetched }) => isFetched);
    [...expired, ...(fetched === undefined ? [] : [fetched])].forEach((task) => this.forget(task));
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

const TIMES = { ttlMs: TASK_TTL_MS, pollIntervalMs: POLL_MS };

/** A call of 2026-07-28, whose questions the client fetches. */
interface ModernCall extends TaskCall {
  takeReplies(replies: Readonly<Record<string, unknown>>): void;
}

/** The tasks of a client of 2026-07-28. */
export class Tasks {
  readonly #store: TaskStore<ModernCall>;

  constructor(kept?: KeptTasks) {
    this.#store = new TaskStore(kept);
  }

  /** The answer to a call that becomes a task; undefined if there are too many. */
  async create(call: ModernCall): Promise<Result | undefined> {
    const task = await this.#store.add(call);
    if (task !== undefined && call.isOver) {
      // Meanwhile, its request was answered.
      this.#store.forget(task);
      return undefined;
    }
    return task && { resultType: 'task', status: call.state().status, ...factsOf(task), ...TIMES };
  }

  /** `tasks/get`. Rejects with -32602 for an unknown task, as do the others. */
  async get(params: unknown): Promise<Result> {
    const task = await this.#store.find(params);
    task.isFetched = task.call.isOver;
    return { ...factsOf(task), ...TIMES, ...task.call.state() };
  }

  /** `tasks/update`: replies to questions. */
  async update(params: unknown, replies: Readonly<Record<string, unknown>> | undefined): Promise<Result> {
    const { call } = await this.#store.find(params);
    if (replies === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, '`inputResponses` must be an object.');
    }
    call.takeReplies(replies);
    return {};
  }

  /** `tasks/cancel`. Nothing happens if it has ended. */
  async cancel(params: unknown): Promise<Result> {
    (await this.#store.find(params)).call.cancel('the client cancelled the task');
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
