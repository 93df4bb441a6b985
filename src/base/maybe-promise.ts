/**
 * A value, or a promise if there is something to wait for. Each promise on the way of every cell and call costs time, more so with
 * telemetry (decision 060), so they await only promises.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Calls `use` at once if there is nothing to wait for. */
export function useWhenThere<Value, Used>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Used>,
): MaybePromise<Used> {
  return value instanceof Promise ? value.then(use) : use(value);
}
