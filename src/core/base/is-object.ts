/** JSON objects whose members are unchecked. */

/** A JSON object as it was received: nothing is known about its members. */
export type JsonObject = Record<string, unknown>;

/** Whether a value is a JSON object: neither an array nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
