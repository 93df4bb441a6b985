/** Reads the text of one server file: what it defines and what is wrong with it. No I/O but the look at wrapper scripts. */
import { createHash } from 'node:crypto';
import { dirname, isAbsolute, resolve } from 'node:path';
import { type ExpandContext, expandHome, expandVariables } from './expand.ts';
import { type ConfigIssue, explainZodIssues, renderPath } from './explain.ts';
import { parseJson } from './json-text.ts';
import { KNOWN_ENTRY_KEYS, type ServerEntry, ServerEntrySchema } from './schema.ts';
import { findSelfReference } from './self.ts';

/** Longer names could not be shown or typed. Chosen. */
const MAX_NAME_CHARS = 128;

/** One configured server, ready to be started. */
export interface ServerDefinition {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Variables of the entry, added to the named safe ones. Values may be secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute; undefined means the working directory of the bridge. */
  readonly cwd: string | undefined;
  /** The entry's own text, else that of its file. */
  readonly description: string | undefined;
  /** Longest time of one call; undefined leaves it to the caller. */
  readonly timeoutMs: number | undefined;
  /** Known by name, but neither started nor offered. */
  readonly disabled: boolean;
  /** What happens when its tools change; undefined leaves it to the setting. */
  readonly pin?: 'off' | 'warn' | 'strict' | undefined;
  /** What code may do with it, as it stands in the file; undefined when the entry says nothing of it. */
  readonly policy: PlacedPolicy | undefined;
  /** SHA-256 in hexadecimal of command, args, env and cwd: two definitions with the same one start the same process. */
  readonly definitionHash: string;
  /** The file it stands in. */
  readonly file: string;
}

/** A policy that was not checked yet. */
export interface PlacedPolicy {
  readonly value: unknown;
  /** Keys that lead to it in the file. */
  readonly path: readonly string[];
}

export interface ServerFile {
  readonly servers: readonly ServerDefinition[];
  readonly issues: readonly ConfigIssue[];
  /** Where in the file the servers stand. */
  readonly keys: readonly string[];
}

/** What the text of a server file is read with. */
export interface ServerFileContext extends ExpandContext {
  /** Whether entries that would start this bridge again are kept; no when left out. */
  readonly allowsSelf?: boolean | undefined;
}

/** The definitions in `text`, the content of `file`. A bad entry is an issue and does not hide the others. */
export function parseServerFile(file: string, text: string, context: ServerFileContext): ServerFile {
  const issues: ConfigIssue[] = [];
  const report = (level: ConfigIssue['level'], path: readonly PropertyKey[], message: string): void => {
    issues.push({ level, file, path: renderPath(path), message });
  };
  const keys = ['mcpServers'];
  const root = parseObject(text, (message) => report('error', [], message));
  if (root === undefined) {
    return { servers: [], issues, keys };
  }
  const { mcpServers } = root;
  if (!isObject(mcpServers)) {
    report(...explainMissingServers(root));
    return { servers: [], issues, keys };
  }
  return readServers({ file, keys, entries: mcpServers, fileDescription: root['description'] }, context, 'warning');
}

/** The servers of a file, whatever its format. */
export interface ServerEntries {
  readonly file: string;
  readonly keys: readonly string[];
  /** By name, in our shape, not checked yet. */
  readonly entries: Readonly<Record<string, unknown>>;
  /** For entries that have no description of their own. */
  readonly fileDescription: unknown;
}

/** The definitions of `entries`; those of this bridge are left out, and reported at the level given. */
export function readServers(
  { file, keys, entries, fileDescription }: ServerEntries,
  context: ServerFileContext,
  selfLevel: ConfigIssue['level'],
): ServerFile {
  const issues: ConfigIssue[] = [];
  const servers: ServerDefinition[] = [];
  for (const [name, value] of Object.entries(entries)) {
    const path = renderPath([...keys, name]);
    const reportEntry = (level: ConfigIssue['level'], message: string): void => {
      issues.push({ level, file, path, message });
    };
    const entry = readEntry({ file, keys, name, value }, issues);
    if (entry === undefined) {
      continue;
    }
    const expanded = expandEntry(entry, context, (variable) => {
      reportEntry('warning', `the variable ${variable} is not set; its place was left as it is`);
    });
    const definition = toDefinition(expanded, { file, keys, name, fileDescription });
    const self = context.allowsSelf === true ? undefined : findSelfReference(definition, context.env);
    if (self === undefined) {
      servers.push(definition);
    } else {
      reportEntry(selfLevel, `was skipped, because ${self}; MCP_BRIDGE_ALLOW_SELF_SERVER=1 allows it`);
    }
  }
  return { servers, issues, keys };
}

function parseObject(text: string, fail: (message: string) => void): Record<string, unknown> | undefined {
  const parsed = parseJson(text);
  if ('fault' in parsed) {
    fail(parsed.fault);
    return undefined;
  }
  if (!isObject(parsed.value)) {
    fail('must hold an object with the key "mcpServers"');
    return undefined;
  }
  return parsed.value;
}

/** Files of other purposes are none of our business; those that look like server files get a warning. */
function explainMissingServers(root: Record<string, unknown>): [ConfigIssue['level'], PropertyKey[], string] {
  if ('mcpServers' in root) {
    return ['error', ['mcpServers'], 'must be an object of server names'];
  }
  const candidates = [
    root,
    ...Object.values(root),
    ...(isObject(root['servers']) ? Object.values(root['servers']) : []),
  ];
  if (candidates.some((value) => isObject(value) && typeof value['command'] === 'string')) {
    return [
      'warning',
      [],
      'has no key "mcpServers"; put the entries under it: {"mcpServers": {"NAME": {"command": …}}}',
    ];
  }
  return ['debug', [], 'has no key "mcpServers" and was left alone'];
}

interface RawEntry {
  readonly file: string;
  readonly keys: readonly string[];
  readonly name: string;
  readonly value: unknown;
}

function readEntry(raw: RawEntry, issues: ConfigIssue[]): ServerEntry | undefined {
  const { file, keys, name, value } = raw;
  const base = [...keys, name];
  const report = (level: ConfigIssue['level'], message: string): undefined => {
    issues.push({ level, file, path: renderPath(base), message });
    return undefined;
  };
  if (name.trim() === '' || name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name)) {
    return report('error', `a server name has 1 to ${MAX_NAME_CHARS} characters and no control characters`);
  }
  if (isObject(value) && typeof value['url'] === 'string' && value['command'] === undefined) {
    return report('warning', 'is a remote server ("url"); only servers started by "command" are supported so far');
  }
  const parsed = ServerEntrySchema.safeParse(value);
  if (!parsed.success) {
    issues.push(...explainZodIssues(parsed.error, file, base));
    return undefined;
  }
  const unknown = Object.keys(parsed.data).filter((key) => !KNOWN_ENTRY_KEYS.has(key));
  if (unknown.length > 0) {
    report('debug', `keys without a meaning here: ${unknown.join(', ')}`);
  }
  return parsed.data;
}

interface Origin {
  readonly file: string;
  readonly keys: readonly string[];
  readonly name: string;
  readonly fileDescription: unknown;
}

function expandEntry(entry: ServerEntry, context: ExpandContext, onMissing: (variable: string) => void): ServerEntry {
  const expand = (text: string): string => expandVariables(text, context, onMissing);
  const expandPath = (path: string): string => expandHome(expand(path), context);
  return {
    ...entry,
    command: expandPath(entry.command),
    args: entry.args.map(expandPath),
    env: Object.fromEntries(Object.entries(entry.env).map(([name, value]) => [name, expand(value)])),
    ...(entry.cwd === undefined ? {} : { cwd: expandPath(entry.cwd) }),
  };
}

function toDefinition(entry: ServerEntry, origin: Origin): ServerDefinition {
  const { command, args, env } = entry;
  const { keys, name } = origin;
  const folder = dirname(origin.file);
  const cwd = entry.cwd === undefined ? undefined : resolve(folder, entry.cwd);
  const fileDescription = typeof origin.fileDescription === 'string' ? origin.fileDescription : undefined;
  const process = {
    // A path is meant from the file that names it; a bare name is looked up on PATH.
    command: /[\\/]/.test(command) && !isAbsolute(command) ? resolve(cwd ?? folder, command) : command,
    args,
    env,
    cwd,
  };
  return {
    name,
    ...process,
    description: entry.description ?? fileDescription,
    timeoutMs: entry.timeout,
    disabled: entry.disabled === true,
    pin: entry.pin,
    policy: entry.policy === undefined ? undefined : { value: entry.policy, path: [...keys, name, 'policy'] },
    definitionHash: createHash('sha256').update(canonicalJson(process)).digest('hex'),
    file: origin.file,
  };
}

/** JSON with sorted keys, so that the order in the file does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    return isObject(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member;
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
