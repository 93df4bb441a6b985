/**
 * Converts entries of other clients to entries of our server files. Clients mostly agree on `command`, `args` and `env`; this
 * handles the differences. Values are not checked here but when the entry is read.
 */

import { isObject } from '../../core/base/is-object.ts';
import { type FileObject } from './file-format.ts';
import { isRestriction, policyOf, restrictionsOf } from './restrictions.ts';

/** The converted entry, or why there is none. `isClientPart` means that it is not a separate server at all. */
export type ClientEntry = { readonly entry: FileObject } | { readonly reason: string; readonly isClientPart: boolean };

/** Placeholders that only the client can fill in: input from the user, and folders and settings of its window. */
export const CLIENT_VARIABLE =
  /\$\{(?:(?:input|command|config):[^}]{0,200}|(?:workspaceFolder|workspaceRoot|cwd)\w{0,50}(?::[^}]{0,200})?|file\w{0,50})\}/;
const REMOTE_TYPES = /^(?:sse|http|streamable[-_]?http|wss?|websocket)$/i;
/** Types of Goose extensions that run inside Goose. */
const BUILT_IN_TYPES: ReadonlySet<unknown> = new Set(['builtin', 'platform', 'frontend', 'inline_python']);

/** Converts the entry `value` of any client. A plain number in `timeout` is used only if its unit is known. */
export function toServerEntry(value: unknown, timeoutUnit?: 's' | 'ms'): ClientEntry {
  if (!isObject(value)) {
    return { entry: value as FileObject };
  }
  if (BUILT_IN_TYPES.has(value['type']) || value['source'] === 'extension') {
    return { reason: 'is part of the client', isClientPart: true };
  }
  const reason = whyOnlyThere(value);
  if (reason !== undefined) {
    return { reason, isClientPart: false };
  }
  const restricted = restrict(value);
  if (restricted.wrong !== undefined) {
    return { reason: `limits its tools by "${restricted.wrong}", which is not a list of names`, isClientPart: false };
  }
  return { entry: { ...commandOf(value), ...environmentOf(value), ...restOf(value, timeoutUnit), ...restricted } };
}

/** Keys of other clients that are written with ours. */
const FOREIGN_KEYS: ReadonlySet<string> = new Set([
  'cmd',
  'serverUrl',
  'httpUrl',
  'baseUrl',
  'uri',
  'http_headers',
  'env_http_headers',
  'bearer_token_env_var',
  'environment',
  'envs',
  'env_vars',
  'tool_timeout_sec',
]);

/** An entry of a server file of ours, into which someone may have copied that of a client. Keys that are not of clients stay. */
export function adoptEntry(value: unknown, timeoutUnit?: 's' | 'ms'): unknown {
  if (!isObject(value)) {
    return value;
  }
  const rest = Object.entries(value).filter(([key, own]) => {
    return (
      !FOREIGN_KEYS.has(key) &&
      !isRestriction(key) &&
      (key === 'disabled' || !isSwitch(key) || typeof own !== 'boolean')
    );
  });
  const restricted = restrict(value);
  // What cannot be read may forbid anything.
  const policy = restricted.wrong === undefined ? restricted : { policy: { default: 'deny' } };
  const own = pick(restOf(value, timeoutUnit), ['disabled', 'timeout']);
  return { ...Object.fromEntries(rest), ...commandOf(value), ...environmentOf(value), ...own, ...policy };
}

/** The policy for the tools that the client does not let its agent call; empty if it lets it call all. */
export function restrict(value: FileObject): { readonly policy?: FileObject; readonly wrong?: string } {
  const found = restrictionsOf(value);
  if (found === undefined || 'wrong' in found) {
    return found ?? {};
  }
  const policy = policyOf(found, value['policy']);
  return policy === undefined ? { wrong: Object.keys(value).find(isRestriction) ?? 'policy' } : { policy };
}

/** Whether a client would start or reach something because of the entry. */
export function isServerEntry(value: unknown): boolean {
  return isObject(value) && Object.keys(commandOf(value)).length > 0;
}

/** Names that clients use to switch a server on or off. */
const ON = /^(?:is_?)?(?:enabled?|active)$/i;
const OFF = /^(?:is_?)?(?:disabled?|inactive)$/i;

export function isSwitch(key: string): boolean {
  return ON.test(key) || OFF.test(key);
}

/** The keys that switch the server off. */
export function switchesOff(value: FileObject): string[] {
  return Object.keys(value).filter((key) =>
    OFF.test(key) ? value[key] === true : ON.test(key) && value[key] === false,
  );
}

function whyOnlyThere(value: FileObject): string | undefined {
  const variable = CLIENT_VARIABLE.exec(JSON.stringify(value))?.[0];
  if (variable !== undefined) {
    return `contains ${variable}, which only its client can fill in`;
  }
  if (value['envFile'] !== undefined) {
    return 'reads variables from a file ("envFile"), which only its client can do';
  }
  const keys = value['env_keys'];
  if (Array.isArray(keys) && keys.length > 0) {
    return `has variables in the keyring of its client (${keys.join(', ')})`;
  }
  return undefined;
}

/** Program and arguments: separate, in one list (OpenCode), in an object (Zed until 2025), or as `cmd` (Goose). */
function commandOf(value: FileObject): FileObject {
  const command = value['command'] ?? value['cmd'];
  const url = value['url'] ?? value['serverUrl'] ?? value['httpUrl'] ?? value['baseUrl'] ?? value['uri'];
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

/** Keeps only names of transports. Anything else that clients write there only means that the server is remote. */
function transportOf(value: FileObject): FileObject {
  const type = value['type'] ?? value['transport'];
  return typeof type === 'string' && REMOTE_TYPES.test(type) ? { type } : {};
}

/** The headers as they are; Codex lists those whose values are variables separately. */
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
  // Codex: variables that the server inherits from its environment.
  const references = Object.fromEntries(passedOn.map((name) => [name, `\${${name}:-}`]));
  return { env: { ...references, ...(isObject(env) ? env : {}) } };
}

function restOf(value: FileObject, timeoutUnit: 's' | 'ms' | undefined): FileObject {
  const timeout = value['tool_timeout_sec'] ?? value['timeout'];
  const unit = value['tool_timeout_sec'] === undefined ? timeoutUnit : 's';
  return {
    ...pick(value, ['cwd', 'description', 'policy', 'pin']),
    ...(switchesOff(value).length > 0 ? { disabled: true } : {}),
    ...(typeof timeout === 'number' && unit !== undefined ? { timeout: `${timeout}${unit}` } : {}),
  };
}

function pick(value: FileObject, keys: readonly string[]): FileObject {
  return Object.fromEntries(keys.filter((key) => value[key] !== undefined).map((key) => [key, value[key]]));
}
