/**
 * Which parts of a client's first messages are certain to be valid. Each check accepts less than the schemas of the MCP SDK do,
 * never more: what it refuses, the SDK judges. A test compares them.
 */
import { isObject } from '../../core/base/is-object.ts';

export type Members = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

/** A JSON-RPC id, or a progress token. */
export function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** An object whose members of these names, if it has them, pass. It may have others. */
export function isObjectWith(value: unknown, members: Readonly<Record<string, Check>>): boolean {
  return (
    isObject(value) &&
    Object.entries(members).every(([name, check]) => !Object.hasOwn(value, name) || check(value[name]))
  );
}

/** `clientInfo`. One with icons is left to the SDK. */
export function isImplementation(value: unknown): boolean {
  return (
    isObjectWith(value, {
      title: isText,
      description: isText,
      websiteUrl: isText,
      icons: () => false,
    }) &&
    isObjectWith(value, { name: isText, version: isText }) &&
    hasAll(value, ['name', 'version'])
  );
}

/** `capabilities` of a client. */
export function isCapabilities(value: unknown): boolean {
  return isJson(value) && isObjectWith(value, CAPABILITIES);
}

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isRecord: Check = (value) => isObject(value);
const isRecordOfRecords: Check = (value) => isObject(value) && Object.values(value).every(isRecord);

const CAPABILITIES: Readonly<Record<string, Check>> = {
  experimental: isRecordOfRecords,
  extensions: isRecordOfRecords,
  roots: (value) => isObjectWith(value, { listChanged: isFlag }),
  sampling: (value) => isObjectWith(value, { context: isRecord, tools: isRecord }),
  elicitation: (value) =>
    isObjectWith(value, {
      form: (form) => isObjectWith(form, { applyDefaults: isFlag }),
      url: isRecord,
    }),
  tasks: (value) =>
    isObjectWith(value, {
      list: isRecord,
      cancel: isRecord,
      requests: (requests) =>
        isObjectWith(requests, {
          sampling: (sampling) => isObjectWith(sampling, { createMessage: isRecord }),
          elicitation: (elicitation) => isObjectWith(elicitation, { create: isRecord }),
        }),
    }),
};

/** A number such as 1e999 is read as infinity, which is no JSON value. */
function isJson(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) {
    return Object.values(value).every(isJson);
  }
  return typeof value !== 'number' || Number.isFinite(value);
}

function hasAll(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => Object.hasOwn(value, name));
}
