/**
 * Which value the running code belongs to, also after an `await`. From Node 24 on, this is `AsyncLocalStorage`, which costs almost nothing
 * there. Before, that hooks into every promise, timer and stream of the process, which took 4 % of a trivial cell (decision 060), so only
 * promises are followed: code that is called by a timer or a stream belongs to nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { promiseHooks } from 'node:v8';

export interface AsyncContext<Value> {
  /** Undefined outside of `run`. */
  get(): Value | undefined;
  /** Runs `work`, and what it awaits, with the value. */
  run<Result>(value: Value, work: () => Result): Result;
}

/** The first version whose `AsyncLocalStorage` needs no hooks. */
const NATIVE_SINCE = 24;

export function createAsyncContext<Value>(nodeVersion: string = process.versions.node): AsyncContext<Value> {
  return Number.parseInt(nodeVersion, 10) >= NATIVE_SINCE ? new NativeContext<Value>() : new PromiseContext<Value>();
}

class NativeContext<Value> implements AsyncContext<Value> {
  readonly #storage = new AsyncLocalStorage<Value>();

  get(): Value | undefined {
    return this.#storage.getStore();
  }

  run<Result>(value: Value, work: () => Result): Result {
    return this.#storage.run(value, work);
  }
}

/** As Node itself does, the value is kept on the promise: with a WeakMap, many calls at once took longer (measured). */
const VALUE = Symbol('value');
type Marked<Value> = Promise<unknown> & { [VALUE]?: Value };

class PromiseContext<Value> implements AsyncContext<Value> {
  #current: Value | undefined;
  #isFollowing = false;

  get(): Value | undefined {
    return this.#current;
  }

  run<Result>(value: Value, work: () => Result): Result {
    this.#follow();
    const outer = this.#current;
    this.#current = value;
    try {
      return work();
    } finally {
      this.#current = outer;
    }
  }

  /** Not before it is needed, because V8 takes a slower way once there are hooks. */
  #follow(): void {
    if (this.#isFollowing) {
      return;
    }
    this.#isFollowing = true;
    promiseHooks.createHook({
      init: (promise: Marked<Value>) => {
        if (this.#current !== undefined) {
          promise[VALUE] = this.#current;
        }
      },
      before: (promise: Marked<Value>) => {
        this.#current = promise[VALUE];
      },
      // Continuations run one after the other, each from an empty stack.
      after: () => {
        this.#current = undefined;
      },
    });
  }
}
