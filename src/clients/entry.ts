/**
 * Entries of other clients as entries of our own server files. Clients agree on `command`, `args` and `env`; this knows
 * where they do not. Values are passed on as they are: whoever reads the entry checks them.
 */

import { isObject } from '../base/is-object.ts';
import { type FileObject } from './file-format.ts';

/** An entry in our shape, or why there is none; `isClientPart` when it never was a server of its own. */
export type ClientEntry = { readonly entry: FileObject } | { readonly reason: string; readonly isClientPart: boolean };

/** Places that only the client can fill in: questions to the user, folders and settings of its window. */
const CLIENT_VARIABLE =
  /\$\{(?:(?:input|command|config):[^}]*|(?:workspaceFolder|workspaceRoot|cwd)\w*(?::[^}]*)?|file\w*)\}/;
const REMOTE_TYPES = /^(?:sse|http|streamable[-_]?http|wss?|websocket)$/i;
/** Kinds of Goose's extensions that run inside it. */
const BUILT_IN_TYPES: ReadonlySet<unknown> = new Set(['builtin', 'platform', 'frontend', 'inline_python']);

/** `value` of any client in our shape. A bare number in `timeout` counts only when its unit is known. */
export function toServerEntry(value: unknown, timeoutUnit?: 's' | 'ms'): ClientEntry {
  if (!isObject(value)) {
    return { entry: value as FileObject };
  }
  if (BUILT_IN_TYPES.has(value['type']) || value['source'] === 'extension') {
    return { reason: 'is a part of the client', isClientPart: true };
  }
  const reason = whyOnlyThere(value);
  if (reason !== undefined) {
    return { reason, isClientPart: false };
  }
  return { entry: { ...commandOf(value), ...environmentOf(value), ...restOf(value, timeoutUnit) } };
}

function whyOnlyThere(value: FileObject): string | undefined {
  const variable = CLIENT_VARIABLE.exec(JSON.stringify(value))?.[0];
  if (variable !== undefined) {
    return `holds ${variable}, which only its client can fill in`;
  }
  if (value['envFile'] !== undefined) {
    return 'reads variables from a file ("envFile"), which only its client does';
  }
  const keys = value['env_keys'];
  if (Array.isArray(keys) && keys.length > 0) {
    return `has variables in the keyring of its client (${keys.join(', ')})`;
  }
  return undefined;
}

/** Program and arguments: apart, in one list (OpenCode), in an object (Zed until 2025), or as `cmd` (Goose). */
function commandOf(value: FileObject): FileObject {
  const command = value['command'] ?? value['cmd'];
  const url = value['url'] ?? value['serverUrl'] ?? value['httpUrl'] ?? value['uri'];
  if (command === undefined) {
    return url === undefined ? {} : { url, ...transportOf(value), ...headersOf(value) };
  }
  if (Array.isArray(command)) {
    return { command: command[0], args: command.slice(1) };
  }
  if (isObject(command)) {
    return { command: command['path'], ...pick(command, ['args', 'env']) };
  }
  return { command, ...pick(value, ['args']) };
}

/** Only what names a transport of ours; what else clients write there says no more than that the server is remote. */
function transportOf(value: FileObject): FileObject {
  const type = value['type'] ?? value['transport'];
  return typeof type === 'string' && REMOTE_TYPES.test(type) ? { type } : {};
}

/** Headers as they are, or as Codex has them: apart from those whose values are variables. */
function headersOf(value: FileObject): FileObject {
  const headers = value['headers'] ?? value['http_headers'];
  const fromVariables = isObject(value['env_http_headers']) ? value['env_http_headers'] : {};
  const references = Object.entries(fromVariables).map(([name, variable]) => [name, `\${${String(variable)}}`]);
  const bearer = value['bearer_token_env_var'];
  const authorization = typeof bearer === 'string' ? { Authorization: `Bearer \${${bearer}}` } : {};
  const all = { ...authorization, ...Object.fromEntries(references), ...(isObject(headers) ? headers : {}) };
  return Object.keys(all).length === 0 ? {} : { headers: all };
}

function environmentOf(value: FileObject): FileObject {
  const env = value['env'] ?? value['environment'] ?? value['envs'];
  const passedOn = Array.isArray(value['env_vars']) ? value['env_vars'].filter((name) => typeof name === 'string') : [];
  if (passedOn.length === 0) {
    return env === undefined || env === null ? {} : { env };
  }
  // Codex: variables of its own environment that the server gets too.
  const references = Object.fromEntries(passedOn.map((name) => [name, `\${${name}:-}`]));
  return { env: { ...references, ...(isObject(env) ? env : {}) } };
}

function restOf(value: FileObject, timeoutUnit: 's' | 'ms' | undefined): FileObject {
  const timeout = value['tool_timeout_sec'] ?? value['timeout'];
  const unit = value['tool_timeout_sec'] === undefined ? timeoutUnit : 's';
  return {
    ...pick(value, ['cwd', 'description', 'policy', 'pin']),
    ...(value['disabled'] === true || value['enabled'] === false ? { disabled: true } : {}),
    ...(typeof timeout === 'number' && unit !== undefined ? { timeout: `${timeout}${unit}` } : {}),
  };
}

function pick(value: FileObject, keys: readonly string[]): FileObject {
  return Object.fromEntries(keys.filter((key) => value[key] !== undefined).map((key) => [key, value[key]]));
}
