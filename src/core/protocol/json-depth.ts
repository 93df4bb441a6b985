/** How deeply a JSON value is nested: code that walks values by recursion needs a limit. */

/** Whether arrays and objects are nested deeper than `limit`. Never recurses deeper than that itself. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  if (limit === 0) {
    return true;
  }
  // Runs for every message: `some` would create a function for each array, and `Object.values` an array for each object.
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isDeeperThan(item, limit - 1)) {
        return true;
      }
    }
    return false;
  }
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], limit - 1)) {
      return true;
    }
  }
  return false;
}
