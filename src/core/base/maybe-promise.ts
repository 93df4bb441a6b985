/**
 * A value, or a promise if there is something to wait for. Each promise on the way of every cell costs time, more so with telemetry
 * (decision 060), so cells await only promises: without that, a warm cell makes 68 instead of 45, at 0.1 µs each on Node 20. Four runs
 * in turn, two with telemetry, did not show that.
 */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Calls `use` at once if there is nothing to wait for. */
export function useWhenThere<Value, Used>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Used>,
): MaybePromise<Used> {
  return value instanceof Promise ? value.then(use) : use(value);
}
