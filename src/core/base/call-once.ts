/** A function that calls `action` the first time, and does nothing after that. */
export function callOnce<Arguments extends unknown[]>(
  action: (...given: Arguments) => void,
): (...given: Arguments) => void {
  let isDone = false;
  return (...given) => {
    if (!isDone) {
      isDone = true;
      action(...given);
    }
  };
}
