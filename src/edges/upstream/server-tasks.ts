/**
 * Calls that a server answers with a task, which are awaited as any other: of the extension `io.modelcontextprotocol/tasks` (MCP
 * 2026-07-28, SEP-2663), and of 2025-11-25 (basic/utilities/tasks) for tools that cannot be called without one. The SDK's client (2.4.0)
 * has neither.
 */
import { createDeferred } from '../../core/base/deferred.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { ResultBytes } from '../../core/protocol/result-bytes.ts';
import { type Elicit, RequestError } from '../../core/protocol/server-requests.ts';
import type { Deadline } from './deadline.ts';
import { collectInput } from './elicitation-protocol.ts';
import { type Answer, errorOf, type RequestLimits } from './requests.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
/** The error for a tool that must be called as a task, which has not run. */
const METHOD_NOT_FOUND = -32_601;
/** Between two looks at a task, if its server names no time, and the limits of what it may name. Chosen. */
const POLL_MS = { usual: 1_000, least: 100, most: 10_000 };
const CANCEL_MS = 5_000;
/** Questions of one task. Chosen. */
const MAX_QUESTIONS = 100;

/** Sends a request within the deadline of the call. `limits` replace its own. */
type Send = (method: string, params: JsonObject, limits?: RequestLimits) => Promise<Answer>;

interface Awaiting {
  /** Whether a task of 2025-11-25 was asked for. */
  readonly isLegacy: boolean;
  readonly send: Send;
  readonly deadline: Deadline;
  readonly elicit: Elicit | undefined;
  readonly onProgress: RequestLimits['onProgress'];
}

/** Whether a call has failed only because a server of 2025-11-25 wants it to be a task. */
export function needsTask(error: unknown, { tasks }: JsonObject): boolean {
  const tools = memberOf(memberOf(tasks, 'requests'), 'tools');
  return error instanceof RequestError && error.code === METHOD_NOT_FOUND && memberOf(tools, 'call') !== undefined;
}

/** The answer itself, or the result of the task that it is. Rejects as `send` does; then the task is cancelled. */
export async function awaitTask(answer: Answer, awaiting: Awaiting): Promise<Answer> {
  const task = taskIn(answer, awaiting.isLegacy);
  if (task === undefined) {
    return answer;
  }
  const { send } = awaiting;
  try {
    return await follow(task, awaiting);
  } catch (error) {
    if (!(error instanceof RequestError && error.kind === 'rpc')) {
      // Whatever becomes of it, the call has ended.
      send('tasks/cancel', { taskId: task.taskId }, { timeoutMs: CANCEL_MS }).catch(() => undefined);
    }
    throw error;
  }
}

interface Task {
  readonly taskId: string;
  readonly first: JsonObject;
}

function taskIn({ result }: Answer, isLegacy: boolean): Task | undefined {
  if (result instanceof ResultBytes) {
    return undefined;
  }
  const first = isLegacy ? result['task'] : result['resultType'] === 'task' ? result : undefined;
  if (!isObject(first)) {
    return undefined;
  }
  const { taskId } = first;
  if (typeof taskId !== 'string') {
    throw new RequestError('malformed', 'it answered with a task that has no id');
  }
  return { taskId, first };
}

async function follow({ first, taskId }: Task, { deadline, elicit, isLegacy, onProgress, send }: Awaiting) {
  const answered = new Set<string>();
  let state = first;
  let said: unknown;
  for (let looks = 1; ; looks += 1) {
    await pause(state[isLegacy ? 'pollInterval' : 'pollIntervalMs'], deadline);
    const { bytes, result } = await send('tasks/get', { taskId });
    state = result instanceof ResultBytes ? {} : result;
    const { error, result: ended, status, statusMessage } = state;
    if (typeof statusMessage === 'string' && statusMessage !== said) {
      onProgress?.({ progress: looks, message: statusMessage });
      said = statusMessage;
    }
    if (status === 'cancelled') {
      throw new RequestError('rpc', 'the server cancelled the task of the call');
    }
    if (isLegacy && status !== 'working') {
      // It waits for the end, and the server asks its questions meanwhile.
      return send('tasks/result', { taskId });
    }
    if (status === 'completed' && isObject(ended)) {
      return { bytes, result: ended };
    }
    if (status === 'failed') {
      throw errorOf(error);
    }
    if (status === 'input_required') {
      const inputResponses = await answerNew(state['inputRequests'], { answered, deadline, elicit });
      await (inputResponses && send('tasks/update', { taskId, inputResponses }));
    } else if (status !== 'working') {
      throw new RequestError('malformed', `its task has the state ${JSON.stringify(status ?? null).slice(0, 100)}`);
    }
  }
}

/** The replies to what has no reply yet; undefined if that is nothing. */
async function answerNew(
  inputRequests: unknown,
  { answered, deadline, elicit }: Pick<Awaiting, 'deadline' | 'elicit'> & { readonly answered: Set<string> },
): Promise<JsonObject | undefined> {
  const asked = isObject(inputRequests) ? Object.entries(inputRequests) : [];
  const open = asked.filter(([key]) => !answered.has(key));
  if (open.length === 0) {
    return undefined;
  }
  if (elicit === undefined || answered.size + open.length > MAX_QUESTIONS) {
    throw new RequestError('malformed', 'its task asks more than it may');
  }
  open.forEach(([key]) => answered.add(key));
  return collectInput(Object.fromEntries(open), elicit, deadline);
}

/** Rejects when the call ends. */
async function pause(given: unknown, deadline: Deadline): Promise<void> {
  const wanted = typeof given === 'number' && given > 0 ? given : POLL_MS.usual;
  const over = createDeferred<void>();
  const timer = setTimeout(over.resolve, Math.min(POLL_MS.most, Math.max(POLL_MS.least, wanted)));
  const { signal } = deadline;
  signal.addEventListener('abort', over.resolve, { once: true });
  await over.promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', over.resolve);
  if (signal.aborted) {
    throw new RequestError('timeout', 'the call has ended before its task');
  }
}

function memberOf(value: unknown, key: string): unknown {
  return isObject(value) ? value[key] : undefined;
}
