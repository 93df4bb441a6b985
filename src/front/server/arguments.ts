/**
 * Checks the arguments of `run_python`. Written by hand, because a model that must fix its call reads the message: each one
 * names the argument, its value and what is allowed, and its hint is one next step.
 *
 * A value is accepted if it can mean only one thing: models write `timeout: "5"`, `servers: "github"`, `servers: "['github']"`,
 * `servers: ["mcp_GitHub"]` and `session: 5`, and each refusal costs them a turn.
 */

import { DEFAULT_SESSION } from '../../core/base/cell.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { MAX_CODE_BYTES } from '../../core/base/limits.ts';
import { type MaybePromise, useWhenThere } from '../../core/base/maybe-promise.ts';
import { howToAddServers } from '../../core/base/no-server.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { parseDurationMs } from '../../core/base/units.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { cutEnd } from '../../core/render/truncate.ts';
import type { ServerNames } from '../../core/session/lazy-bridge.ts';

/** Session names appear in container labels and log lines. */
export const SESSION_NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** A number as people write it: no sign, unit, exponent or separator. */
const DECIMAL = /^\d+(?:\.\d+)?$/;

const ARGUMENT_NAMES = ['code', 'servers', 'timeout', 'session'];
const MAX_SHOWN_VALUE_CHARS = 60;
const MAX_SHOWN_NAMES = 40;
const MAX_SHOWN_PROBLEMS = 3;

const SEND_CODE = 'Send the Python source as the string `code`.';
const EXAMPLE_LIST = "Write a list such as ['github'], or leave the argument out.";

export interface CellArguments {
  readonly code: string;
  /** Each name once, in the order given. */
  readonly servers: readonly string[];
  readonly timeoutSeconds: number;
  readonly session: string;
  /** Whether the first line of the code says that its answer is not awaited. */
  readonly isBackground: boolean;
}

export interface ArgumentRules {
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  /** Called at most once, and only if `servers` names a server. */
  listServers(): MaybePromise<ServerNames>;
}

/**
 * The arguments with defaults filled in. `null` counts as left out, because some clients send it for every optional
 * argument. Rejects with `ARGUMENT_INVALID`, or with `SERVER_NOT_AVAILABLE` for a disabled server.
 */
export async function checkRunArguments(given: unknown, rules: ArgumentRules): Promise<CellArguments> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refusal(`The arguments are ${shownArgument(given)}; an object with \`code\` is needed.`, SEND_CODE);
  }
  const named = given as Record<string, unknown>;
  const unknown = Object.keys(named).find((name) => !ARGUMENT_NAMES.includes(name));
  if (unknown !== undefined) {
    const guess = (await didYouMean(unknown, ARGUMENT_NAMES)).trim();
    throw refusal(
      `There is no argument ${quoted(unknown)}; allowed are ${listed(ARGUMENT_NAMES)}.`,
      guess === '' ? 'Leave it out.' : guess,
    );
  }
  const code = checkCode(named.code);
  const own = ownSettings(code);
  const usual = own.isBackground ? rules.maxTimeoutSeconds : rules.defaultTimeoutSeconds;
  const timeout = own.timeoutSeconds ?? named.timeout ?? usual;
  const timeoutSeconds = checkTimeout(timeout, rules.maxTimeoutSeconds);
  const session = checkSession(named.session ?? DEFAULT_SESSION);
  const servers = checkServers(named.servers ?? [], rules);
  const { isBackground } = own;
  return { code, timeoutSeconds, session, isBackground, servers: servers instanceof Promise ? await servers : servers };
}

/** `# timeout: 90s`, `# background`, or both with a comma, in the first line of code. Other comments say nothing. */
const OWN_SETTINGS =
  /^\s*#[ \t]*((?:background|timeout:[ \t]*\d+[smh]?)(?:,[ \t]*(?:background|timeout:[ \t]*\d+[smh]?))?)\s*(?:\n|$)/;

function ownSettings(code: string): { readonly timeoutSeconds: number | undefined; readonly isBackground: boolean } {
  const words = OWN_SETTINGS.exec(code)?.[1] ?? '';
  const time = /\d+[smh]?/.exec(words)?.[0];
  return {
    timeoutSeconds: time === undefined ? undefined : parseDurationMs(time) / 1000,
    isBackground: words.includes('background'),
  };
}

function checkCode(code: unknown): string {
  if (code === undefined) {
    throw refusal('`code` is missing; it is the Python source to run, a string.', SEND_CODE);
  }
  if (typeof code !== 'string') {
    throw refusal(`\`code\` is ${shownArgument(code)}; it must be a string of Python source.`, SEND_CODE);
  }
  if (code.trim() === '') {
    throw refusal('`code` is blank; it must hold Python source.', SEND_CODE);
  }
  const bytes = Buffer.byteLength(code);
  if (bytes > MAX_CODE_BYTES) {
    throw refusal(
      `\`code\` has ${bytes.toLocaleString('en')} bytes; at most ${MAX_CODE_BYTES.toLocaleString('en')} are allowed.`,
      'Read the data from a file or a tool instead of putting it into the code.',
    );
  }
  return code;
}

/** A deadline in whole seconds. Throws `ARGUMENT_INVALID`. */
export function checkTimeout(timeout: unknown, maxSeconds: number): number {
  const seconds = typeof timeout === 'string' && DECIMAL.test(timeout.trim()) ? Number(timeout) : timeout;
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 1 || seconds > maxSeconds) {
    const isTooLong = typeof seconds === 'number' && seconds > maxSeconds;
    throw refusal(
      `\`timeout\` is ${shownArgument(timeout)}; it must be a whole number of seconds from 1 to ${maxSeconds}.`,
      isTooLong
        ? `Use ${maxSeconds}, and do the rest in the next cell. The user can allow more with MCP_BRIDGE_MAX_TIMEOUT.`
        : 'Write only the number of seconds, without a unit or fraction.',
    );
  }
  return seconds;
}

/** The name of a session. Throws `ARGUMENT_INVALID`. */
export function checkSession(given: unknown): string {
  // Above 2^53 two different numbers can be read as one, and would name the same session.
  const session = Number.isSafeInteger(given) ? String(given) : given;
  if (typeof session !== 'string' || !SESSION_NAME_PATTERN.test(session)) {
    throw refusal(
      `\`session\` is ${shownArgument(given)}; it must be a string of 1 to 64 letters, digits, '_', '.' or '-' that begins ` +
        'with a letter or digit.',
      'Use a short name such as default, or leave the argument out.',
    );
  }
  return session;
}

/** Throws or rejects with a refusal. */
function checkServers(given: unknown, rules: ArgumentRules): MaybePromise<readonly string[]> {
  if (Array.isArray(given) ? given.length === 0 : typeof given === 'string' && given.trim() === '') {
    return [];
  }
  if (typeof given === 'string') {
    return useWhenThere(rules.listServers(), (configured) =>
      resolveAll(textsIn(readServers(given, configured.names)), configured),
    );
  }
  if (!Array.isArray(given)) {
    throw notAList(given);
  }
  const names = textsIn(given);
  return useWhenThere(rules.listServers(), (configured) => resolveAll(names, configured));
}

function textsIn(servers: readonly unknown[]): readonly string[] {
  const notText = servers.findIndex((name) => typeof name !== 'string');
  if (notText !== -1) {
    throw refusal(
      `\`servers[${notText}]\` is ${shownArgument(servers[notText])}; it must be the name of a server, a string.`,
      EXAMPLE_LIST,
    );
  }
  return servers as readonly string[];
}

/** The configured name of each server, once. */
function resolveAll(wanted: readonly string[], configured: ServerNames): MaybePromise<readonly string[]> {
  const found = new Set<string>();
  const exact = new Set(configured.names);
  for (const name of wanted) {
    // As in Python, `mcp_github`, or in the tool names of other clients, `mcp__github`.
    const bare = name.replace(/^mcp_+/i, '');
    const server = exact.has(name) ? name : (configured.resolve(name) ?? configured.resolve(bare));
    if (server === undefined) {
      return refuseServer(configured.whyDisabled(name) ?? configured.whyDisabled(bare), name, configured);
    }
    found.add(server);
  }
  return [...found];
}

async function refuseServer(disabled: BridgeError | undefined, name: string, configured: ServerNames): Promise<never> {
  throw disabled ?? (await notConfigured(name, configured));
}

function notAList(given: unknown): BridgeError {
  return refusal(`\`servers\` is ${shownArgument(given)}; it must be a list of server names.`, EXAMPLE_LIST);
}

/** Reads a string given instead of a list: the server of exactly that name, a list as JSON or Python, or names with commas. */
function readServers(text: string, known: readonly string[]): readonly unknown[] {
  if (known.includes(text)) {
    return [text];
  }
  if (!text.trimStart().startsWith('[')) {
    return text.split(',').map((name) => name.trim());
  }
  const servers = parseList(text) ?? parseList(text.replaceAll("'", '"'));
  if (servers === undefined) {
    throw notAList(text);
  }
  return servers;
}

function parseList(text: string): unknown[] | undefined {
  const read = readUntrusted(text, JSON_BOUNDS.clientMessage);
  return read.ok && Array.isArray(read.value) ? read.value : undefined;
}

async function notConfigured(name: string, { names, fileProblems }: ServerNames): Promise<BridgeError> {
  const problems = hintOf(name, fileProblems);
  if (names.length === 0) {
    const message = `\`servers\` names ${quoted(name)}, but no server is configured.`;
    return refusal(message, problems ?? howToAddServers());
  }
  const guess = (await didYouMean(name.slice(0, MAX_SHOWN_VALUE_CHARS), names)).trim();
  const hint = `${guess} Configured: ${listed(names)}. ${problems ?? ''}`.trim();
  return refusal(`\`servers\` names ${quoted(name)}, which is not configured.`, hint);
}

/** The server may be in a file that could not be read. Problems that name it come first. */
function hintOf(server: string, problems: readonly string[]): string | undefined {
  const namesIt = (problem: string): number => Number(problem.split(/[^\w-]+/).includes(server));
  const shownProblems = problems
    .toSorted((a, b) => namesIt(b) - namesIt(a))
    .slice(0, MAX_SHOWN_PROBLEMS)
    .join('; ');
  return problems.length === 0 ? undefined : `The user must fix these problems in server files: ${shownProblems}.`;
}

function refusal(message: string, hint: string): BridgeError {
  return new BridgeError('ARGUMENT_INVALID', message, { hint });
}

/** A value, cut to a readable length. */
export function shownArgument(value: unknown): string {
  if (typeof value === 'string') {
    return quoted(value);
  }
  // Single quotes, as around every other text.
  return cutEnd((JSON.stringify(value) ?? String(value)).replaceAll('"', "'"), MAX_SHOWN_VALUE_CHARS);
}

/** A text in single quotes, on one line. */
function quoted(text: string): string {
  return `'${JSON.stringify(cutEnd(text, MAX_SHOWN_VALUE_CHARS)).slice(1, -1).replaceAll('\\"', '"')}'`;
}

function listed(names: readonly string[]): string {
  const first = names.slice(0, MAX_SHOWN_NAMES).map(quoted).join(', ');
  return names.length > MAX_SHOWN_NAMES ? `${first} and ${names.length - MAX_SHOWN_NAMES} more` : first;
}
