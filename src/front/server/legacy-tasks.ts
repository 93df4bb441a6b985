/** Tasks of MCP 2025-11-25 (basic/utilities/tasks): the client asks for one with its call, and is asked while it waits for the result. */
import { ProtocolError, ProtocolErrorCode, type Result, type ServerContext } from '@modelcontextprotocol/server';
import { unlessAborted } from '../../core/base/cancel.ts';
import type { Person } from '../../core/base/cell.ts';
import { createDeferred } from '../../core/base/deferred.ts';
import { messageOf } from '../../core/base/errors.ts';
import { type KeptTasks, TASK_TTL_MS } from '../../core/session/kept-tasks.ts';
import type { RequestContext } from '../../core/session/lazy-bridge.ts';
import { RelayedPerson } from './relayed-person.ts';
import { factsOf, POLL_MS, type Task, type TaskCall, type TaskState, TaskStore } from './tasks.ts';

const RELATED = 'io.modelcontextprotocol/related-task';

/** The person at the client of a request about a task. `meta` says which. */
type PersonOf = (context: ServerContext, meta: Readonly<Record<string, unknown>>) => Person | undefined;

/** The tasks of one client of 2025-11-25. */
export class LegacyTasks {
  readonly #store: TaskStore<LegacyCall>;

  constructor(kept?: KeptTasks) {
    this.#store = new TaskStore(kept);
  }

  /** The answer to a call that is to be a task. Rejects with -32603 if there are too many. */
  async create(
    run: (context: RequestContext) => Promise<Result>,
    person: Pick<Person, 'opensPages'> | undefined,
  ): Promise<Result> {
    const task = await this.#store.add(new LegacyCall(run, person));
    if (task === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Too many tasks; fetch the results of earlier ones.');
    }
    task.call.begin();
    return { task: describe(task) };
  }

  /** `tasks/get`. Rejects with -32602 for an unknown task, as do the others. */
  async get(params: unknown): Promise<Result> {
    return describe(await this.#store.find(params));
  }

  /** Those of this process: whose the others are, only their ids tell. */
  list(): Result {
    return { tasks: this.#store.all().map(describe) };
  }

  /** `tasks/cancel`. Rejects with -32602 if it has ended. */
  async cancel(params: unknown): Promise<Result> {
    const task = await this.#store.find(params);
    if (task.call.isOver) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The task has ended already.');
    }
    task.call.cancel('the client cancelled the task');
    return describe(task);
  }

  /** `tasks/result`: waits for the end. Meanwhile, the person is asked at this request. */
  async result(params: unknown, context: ServerContext, personOf: PersonOf): Promise<Result> {
    const task = await this.#store.find(params);
    const meta = { [RELATED]: { taskId: task.id } };
    const result = await task.call.wait(personOf(context, meta), context.mcpReq.signal);
    task.isFetched = true;
    return { ...result, _meta: { ...result._meta, ...meta } };
  }
}

function describe(task: Task<TaskCall>) {
  const state = task.call.state();
  const statusMessage = state.status === 'working' ? state.statusMessage : undefined;
  const facts = { ...factsOf(task), ttl: TASK_TTL_MS, pollInterval: POLL_MS };
  return { ...facts, status: state.status, ...(statusMessage !== undefined && { statusMessage }) };
}

class LegacyCall implements TaskCall {
  readonly #run: (context: RequestContext) => Promise<Result>;
  readonly #person: RelayedPerson | undefined;
  readonly #cancel = new AbortController();
  readonly #ended = createDeferred<void>();
  readonly ended = this.#ended.promise;
  #outcome: Result | ProtocolError | undefined;
  #message: string | undefined;
  #changedAt = Date.now();

  constructor(run: (context: RequestContext) => Promise<Result>, person: Pick<Person, 'opensPages'> | undefined) {
    this.#run = run;
    this.#person = person && new RelayedPerson(person);
  }

  get changedAt(): number {
    return this.#changedAt;
  }

  get isOver(): boolean {
    return this.#outcome !== undefined || this.#cancel.signal.aborted;
  }

  begin(): void {
    const onProgress = ({ message }: { readonly message: string }): void => {
      this.#message = message;
      this.#changedAt = Date.now();
    };
    const end = (outcome: Result | ProtocolError): void => {
      this.#outcome = outcome;
      this.#changedAt = Date.now();
      this.#ended.resolve();
    };
    this.#run({ signal: this.#cancel.signal, onProgress, person: this.#person }).then(end, (error: unknown) =>
      end(
        error instanceof ProtocolError ? error : new ProtocolError(ProtocolErrorCode.InternalError, messageOf(error)),
      ),
    );
  }

  /** A cancelled task is so at once, also if its cell needs a moment to end. */
  state(): TaskState {
    const outcome = this.#outcome;
    if (this.#cancel.signal.aborted) {
      return { status: 'cancelled' };
    }
    if (outcome === undefined) {
      return this.#person?.hasQuestion === true
        ? { status: 'input_required', inputRequests: {} }
        : { status: 'working', ...(this.#message !== undefined && { statusMessage: this.#message }) };
    }
    return outcome instanceof ProtocolError
      ? { status: 'failed', error: { code: outcome.code, message: outcome.message } }
      : { status: 'completed', result: outcome };
  }

  cancel(reason: unknown): void {
    this.#changedAt = Date.now();
    this.#cancel.abort(reason);
  }

  /** Throws what the call has thrown. */
  async wait(person: Person | undefined, signal: AbortSignal): Promise<Result> {
    this.#person?.attach({ person });
    await unlessAborted(this.ended, signal).finally(() => this.#person?.attach(undefined));
    if (this.#outcome === undefined || this.#outcome instanceof ProtocolError) {
      throw this.#outcome ?? new Error('the call has no outcome');
    }
    return this.#outcome;
  }
}
