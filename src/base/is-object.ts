/** The one question that is asked of JSON everywhere. */

/** Whether a value is an object in the sense of JSON: neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
