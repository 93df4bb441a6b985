/**
 * Compiles a description of an API in a thread of its own. Descriptions come from anywhere: a short text can take minutes and gigabytes,
 * and the bridge must neither wait for it nor die of it.
 */
import { Worker } from 'node:worker_threads';
import type { CancelSignal } from '../../../core/base/cancel.ts';
import { createDeferred } from '../../../core/base/deferred.ts';
import { messageOf } from '../../../core/base/errors.ts';
import { PACKAGE_ROOT } from '../../../core/base/package.ts';
import { sizeText } from '../../../core/base/units.ts';
import { IS_BUILT } from '../../../core/base/version.ts';
import type { CompileReply, CompileTask, DescriptionKind } from './compile-thread.ts';

/** The largest public description found has 13 MB. */
export const MAX_DESCRIPTION_BYTES = 32 * 1024 * 1024;
/** Chosen. GitHub's description needs 0.2 GB and 3 s of CPU time as JSON, and 0.5 GB and 13 s as 10 MB of YAML (measured). */
const MAX_MEMORY_MIB = 1024;
const MAX_SECONDS = 60;
const CANCELLED = 'was not compiled, because that was cancelled';

export interface CompileOptions {
  readonly kind: DescriptionKind;
  readonly signal?: CancelSignal | undefined;
  /** Only for tests. */
  readonly maxSeconds?: number | undefined;
}

/** The lines of the compiled description (`compiled-lines.ts`). Rejects with an error that says what is wrong with the text, to follow its name: `is not YAML (line 3, column 5): …`. */
export async function compileInWorker(text: string, options: CompileOptions): Promise<readonly string[]> {
  const reply = await replyTo(text, options);
  if (!reply.ok) {
    throw new Error(reply.reason);
  }
  return reply.lines;
}

async function replyTo(
  text: string,
  { kind, signal, maxSeconds = MAX_SECONDS }: CompileOptions,
): Promise<CompileReply> {
  if (Buffer.byteLength(text) > MAX_DESCRIPTION_BYTES) {
    return failed(`is larger than ${sizeText(MAX_DESCRIPTION_BYTES)}`);
  }
  if (signal?.aborted === true) {
    return failed(CANCELLED);
  }
  const stopped = createDeferred<CompileReply>();
  const onAbort = (): void => stopped.resolve(failed(CANCELLED));
  const overdue = `is too complex: compiling it took more than ${maxSeconds} seconds`;
  const timer = setTimeout(() => stopped.resolve(failed(overdue)), maxSeconds * 1_000);
  signal?.addEventListener('abort', onAbort, { once: true });
  const worker = startWorker({ text, kind });
  try {
    return await Promise.race([replyOf(worker), stopped.promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function startWorker(task: CompileTask): Worker {
  return new Worker(IS_BUILT ? new URL('dist/compile-thread.js', PACKAGE_ROOT) : sourceThread(), {
    workerData: task,
    execArgv: [],
    // Nothing in it needs them.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MIB },
  });
}

/** Unbuilt, the thread first registers what runs TypeScript; `--import` does so only in the main thread. */
function sourceThread(): URL {
  const loader = new URL('scripts/typescript-loader.mjs', PACKAGE_ROOT).href;
  const thread = new URL('compile-thread.ts', import.meta.url).href;
  const program = `import { register } from 'node:module'; register('${loader}'); await import('${thread}');`;
  return new URL(`data:text/javascript,${encodeURIComponent(program)}`);
}

function replyOf(worker: Worker): Promise<CompileReply> {
  return new Promise((resolve) => {
    worker.once('message', (reply: CompileReply) => resolve(reply));
    worker.once('error', (error: NodeJS.ErrnoException) => {
      const isMemory = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const what = isMemory ? `needed more than ${MAX_MEMORY_MIB} MiB of memory` : `failed: ${messageOf(error)}`;
      resolve(failed(`is too complex: compiling it ${what}`));
    });
    worker.once('exit', () => resolve(failed('was not compiled, because the thread ended')));
  });
}

function failed(reason: string): CompileReply {
  return { ok: false, reason };
}
