/** Parses the text of one server file: its definitions and its problems. Does no I/O except to read wrapper scripts. */

import { createHash } from 'node:crypto';
import { dirname, isAbsolute, resolve } from 'node:path';
import { type ConfigIssue, explainZodIssues, renderPath } from '../../core/base/config-issue.ts';
import { isObject } from '../../core/base/is-object.ts';
import { parseJson, repeatedKey } from '../../core/base/json-text.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { ApiSource, ProcessDefinition, RemoteDefinition } from '../../core/base/server-definition.ts';
import { adoptEntry, isServerEntry, isSwitch, restrict } from '../clients/entry.ts';
import { type EgressEntry, egressOf } from './egress-entry.ts';
import { KNOWN_ENTRY_KEYS, MAX_CALL_TIMEOUT_MS, type ServerEntry, ServerEntrySchema } from './entry-schema.ts';
import {
  type ExpandContext,
  expandHome,
  expandVariables,
  findUnfilled,
  type Holder,
  inOurNotation,
  REFERENCE,
  referenceKinds,
} from './expand.ts';
import { extendEntries } from './extended-entries.ts';
import { explainRemoteValues, KNOWN_REMOTE_KEYS, type RemoteEntry, RemoteEntrySchema } from './remote-entry.ts';
import { allowsItself, findSelfReference } from './self.ts';
import { findServers, OTHER_KEYS } from './sources.ts';

/** Chosen: longer names could not be shown or typed. */
const MAX_NAME_CHARS = 128;
/** Of the entry of an API that has none. */
export const API_POLICY = { preset: 'ask-destructive' } as const;
const COMMANDS_NOT_RUN = 'commands ("${cmd:…}") are not run from this file, because';

/** One configured server, ready to be started or reached. */
export type ServerDefinition = ProcessServer | RemoteServer;

/** The options of an entry, besides how its server is started or reached. */
interface EntryOptions {
  /** The description of the entry, otherwise that of its file. */
  readonly description: string | undefined;
  /** Known by name, but neither started nor offered to code. */
  readonly disabled: boolean;
  /** What to do when its tools change; undefined means the setting decides. */
  readonly pin?: 'off' | 'warn' | 'strict' | undefined;
  /** The entry whose keys it has as well. */
  readonly extends: string | undefined;
  /** Whether each principal has a connection of its own. */
  readonly isPerUser: boolean;
  /** The policy in the entry, as written; undefined if there is none. */
  readonly policy: PlacedPolicy | undefined;
}

/** A policy that has not been checked yet. */
export interface PlacedPolicy {
  readonly value: unknown;
  /** The keys that lead to it in the file. */
  readonly path: readonly string[];
}

interface ProcessServer extends ProcessDefinition, EntryOptions {}
interface RemoteServer extends RemoteDefinition, EntryOptions {}

export interface ServerFile {
  readonly servers: readonly ServerDefinition[];
  readonly issues: readonly ConfigIssue[];
  /** The keys that lead to the servers in the file. */
  readonly keys: readonly string[];
}

/** What is needed to parse a server file. */
export interface ServerFileContext extends ExpandContext {
  /** Whether to keep entries that would start this bridge again. Default: false. */
  readonly allowsSelf?: boolean | undefined;
  /** Why the commands of this file must not run, in one clause; undefined if they may. */
  readonly distrust?: string | undefined;
}

/** The definitions in `text`, the content of `file`. An invalid entry is an issue and does not affect the others. */
export function parseServerFile(file: string, text: string, context: ServerFileContext): ServerFile {
  const issues: ConfigIssue[] = [];
  const report = (level: ConfigIssue['level'], path: readonly PropertyKey[], message: string): void => {
    issues.push({ level, file, path: renderPath(path), message });
  };
  const keys = ['mcpServers'];
  const root = parseObject(text, (message) => report('error', [], message));
  const repeated = root === undefined ? undefined : repeatedKey(text.replace(/^\uFEFF/, ''), root);
  if (repeated !== undefined) {
    // If there are two policies, either may be the one that someone relies on.
    report(
      repeated === 'policy' ? 'error' : 'warning',
      [],
      `has the key ${JSON.stringify(repeated)} more than once in one object`,
    );
  }
  if (root === undefined || repeated === 'policy') {
    return { servers: [], issues, keys };
  }
  const found = listIn(root);
  if (found === undefined) {
    report(...explainMissingServers(root));
    return { servers: [], issues, keys };
  }
  if (root['policy'] !== undefined) {
    report('warning', ['policy'], 'is not applied here: it belongs in the entry of a server, or in policy.json');
  }
  const { entries, faults } = extendEntries(adoptEntries(found, file, issues));
  for (const { name, message, hint } of faults) {
    const path = renderPath([...found.keys, name, 'extends']);
    issues.push({ level: 'error', file, path, server: name, message, hint });
  }
  const { keys: at } = found;
  const read = readServers({ file, keys: at, entries, fileDescription: root['description'] }, context, 'warning');
  return { ...read, issues: [...issues, ...read.issues] };
}

type ServerListInFile = NonNullable<ReturnType<typeof findServers>>;

/** The servers of the file: ours, or those of a client whose file was copied as it is. */
function listIn(root: Record<string, unknown>): ServerListInFile | undefined {
  const { mcpServers } = root;
  if ('mcpServers' in root) {
    return isObject(mcpServers) ? { keys: ['mcpServers'], entries: mcpServers } : undefined;
  }
  const found = findServers(root, OTHER_KEYS);
  return found !== undefined && Object.values(found.entries).some(isServerEntry) ? found : undefined;
}

/** A plain number above this, an hour in seconds, is probably in milliseconds: some clients count so. */
const MAX_PLAIN_SECONDS = 3_600;

/** The entries with keys of other clients written as ours. */
function adoptEntries(
  { entries, keys }: ServerListInFile,
  file: string,
  issues: ConfigIssue[],
): Record<string, unknown> {
  // OpenCode.
  const timeoutUnit = keys.join('.') === 'mcp' ? 'ms' : undefined;
  const adopted = Object.entries(entries).map(([name, value]): [string, unknown] => {
    const entry = adoptEntry(value, timeoutUnit);
    if (!isObject(value) || !isObject(entry)) {
      return [name, entry];
    }
    const warn = (key: string, message: string): void => {
      issues.push({ level: 'warning', file, path: renderPath([...keys, name, key]), server: name, message });
    };
    if (keys[0] === 'mcpServers' && value['environment'] !== undefined) {
      const message =
        value['env'] === undefined ? 'is read as "env"; other clients ignore it' : 'is ignored, because there is "env"';
      warn('environment', message);
    }
    const { wrong } = restrict(value);
    if (wrong !== undefined) {
      const message = 'is not a list of names, or is beside a "policy"; no call is allowed until you write one policy';
      warn(wrong, message);
    }
    const { timeout, ...rest } = entry;
    const isPlain = /^\d+$/.test(String(timeout)) && Number(timeout) <= MAX_CALL_TIMEOUT_MS;
    if (isPlain && Number(timeout) > MAX_PLAIN_SECONDS) {
      const choice = `write "${String(timeout)}ms" or "${String(timeout)}s"`;
      const message = `is not used: ${String(timeout)} without a unit is probably in milliseconds; ${choice}`;
      warn('timeout', message);
      return [name, rest];
    }
    return [name, entry];
  });
  return Object.fromEntries(adopted);
}

/** The servers of a file of any format. */
export interface ServerEntries {
  readonly file: string;
  readonly keys: readonly string[];
  /** By name, converted to our entries but not checked yet. */
  readonly entries: Readonly<Record<string, unknown>>;
  /** The description for entries without one. */
  readonly fileDescription: unknown;
}

/** The definitions in `entries`. Entries that start this bridge are left out and reported at the given level. */
export function readServers(
  { file, keys, entries, fileDescription }: ServerEntries,
  context: ServerFileContext,
  selfLevel: ConfigIssue['level'],
): ServerFile {
  const issues: ConfigIssue[] = [];
  const servers: ServerDefinition[] = [];
  for (const [name, value] of Object.entries(entries)) {
    const path = renderPath([...keys, name]);
    const reportEntry = (level: ConfigIssue['level'], message: string, hint?: string): void => {
      issues.push({ level, file, path, server: name, message, ...(hint !== undefined && { hint }) });
    };
    const entry = readEntry({ file, keys, name, value }, issues);
    if (entry === undefined) {
      continue;
    }
    if (entry.data.disabled !== true && hasUnfilled(partsOf(entry, { name, file }), context, reportEntry)) {
      continue;
    }
    const onMissing = (variable: string): void => {
      reportEntry('warning', `the variable ${variable} is not set`, howToSet(variable));
    };
    const variables: Record<string, string> = {};
    const onUsed = (variable: string, text: string): void => {
      variables[variable] = text;
    };
    const own = { ...context, onUsed };
    const origin = { file, keys, name, fileDescription };
    const definition =
      entry.kind === 'remote'
        ? toRemoteServer(expandRemote(entry.data, own, onMissing), origin)
        : toDefinition(expandEntry(entry.data, own, onMissing), origin);
    if (typeof definition === 'string') {
      reportEntry('error', definition);
      continue;
    }
    if (context.distrust !== undefined && referenceKinds(definition).has('cmd')) {
      reportEntry('error', `was left out: ${COMMANDS_NOT_RUN} ${context.distrust}`);
      continue;
    }
    const isSelfAllowed = context.allowsSelf === true || definition.url !== undefined || allowsItself(definition.env);
    const self = isSelfAllowed ? undefined : findSelfReference(definition, context.env);
    if (self === undefined) {
      servers.push(withReferences(definition, variables));
    } else {
      reportEntry(selfLevel, `was skipped, because ${self}; MCP_BRIDGE_ALLOW_SELF_SERVER=on allows it`);
    }
  }
  return { servers, issues, keys };
}

/** Whether the server would get what only another client can fill in, which is then reported. */
function hasUnfilled(
  parts: Holder,
  { env }: ServerFileContext,
  report: (level: 'error', message: string, hint: string) => void,
): boolean {
  const unfilled = findUnfilled(parts, env);
  if (unfilled === undefined) {
    return false;
  }
  const { placeholder, variable } = unfilled;
  if (variable === undefined) {
    const hint = `Write the value, or \${NAME} for a variable of the bridge, or \${secret:NAME}. For all of them, run: ${COMMAND} help servers`;
    report('error', `contains ${placeholder}, which only another client can fill in`, hint);
  } else {
    report('error', `contains ${placeholder}, and the variable ${variable} is not set`, howToSet(variable));
  }
  return true;
}

/** What the server would get. In a program's entry, the keys of a remote server are not checked and not used. */
function partsOf(entry: ReadEntry, origin: { readonly name: string; readonly file: string }) {
  if (entry.kind === 'remote') {
    const { egress, headers, oauth, url } = entry.data;
    const { keys, signing } = egress === undefined ? {} : egressOf(egress);
    return { ...origin, url, headers, oauth, keys, signing };
  }
  const { args, command, cwd, env } = entry.data;
  return { ...origin, command, args, env, cwd };
}

function howToSet(variable: string): string {
  return `Set ${variable} in the environment of the bridge: in a client, that is the "env" of the entry that starts the bridge. Or write the value into this entry.`;
}

function parseObject(text: string, fail: (message: string) => void): Record<string, unknown> | undefined {
  const parsed = parseJson(text);
  if ('fault' in parsed) {
    fail(parsed.fault);
    return undefined;
  }
  if (!isObject(parsed.value)) {
    fail('must be an object with the key "mcpServers"');
    return undefined;
  }
  return parsed.value;
}

/** Other files are ignored, but a file that looks like a server file gets a warning. */
function explainMissingServers(root: Record<string, unknown>): [ConfigIssue['level'], PropertyKey[], string] {
  if ('mcpServers' in root) {
    return ['error', ['mcpServers'], 'must be an object of servers by name'];
  }
  const candidates = [
    root,
    ...Object.values(root),
    ...(isObject(root['servers']) ? Object.values(root['servers']) : []),
  ];
  const isEntry = (value: unknown): boolean =>
    isObject(value) && (typeof value['command'] === 'string' || typeof value['url'] === 'string');
  if (candidates.some(isEntry)) {
    return [
      'warning',
      [],
      'has no key "mcpServers"; put the entries under it: {"mcpServers": {"NAME": {"command": …}}}',
    ];
  }
  if (Array.isArray(root['rules']) || Array.isArray(root['limits']) || 'preset' in root || 'default' in root) {
    return ['warning', [], 'is not read: if it is the policy for all servers, it must be named policy.json'];
  }
  return ['debug', [], 'has no key "mcpServers" and was ignored'];
}

interface RawEntry {
  readonly file: string;
  readonly keys: readonly string[];
  readonly name: string;
  readonly value: unknown;
}

type ReadEntry =
  | { readonly kind: 'process'; readonly data: ServerEntry }
  | { readonly kind: 'remote'; readonly data: RemoteEntry };

function readEntry(raw: RawEntry, issues: ConfigIssue[]): ReadEntry | undefined {
  const { file, keys, name, value } = raw;
  const base = [...keys, name];
  const report = (level: ConfigIssue['level'], message: string): undefined => {
    issues.push({ level, file, path: renderPath(base), server: name, message });
    return undefined;
  };
  if (name.trim() === '' || name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name)) {
    return report('error', `a server name must have 1 to ${MAX_NAME_CHARS} characters and no control characters`);
  }
  const wrongSwitch = isObject(value)
    ? Object.keys(value).find((key) => key !== 'disabled' && isSwitch(key) && typeof value[key] !== 'boolean')
    : undefined;
  if (wrongSwitch !== undefined) {
    const path = renderPath([...base, wrongSwitch]);
    issues.push({ level: 'error', file, path, server: name, message: 'must be true or false' });
    return undefined;
  }
  const likePer = isObject(value) ? Object.keys(value).find(isLikePerUser) : undefined;
  if (likePer !== undefined) {
    return report('error', `'${likePer}' is not a known key. Did you mean "per": "user"?`);
  }
  const isRemote =
    isObject(value) && value['command'] === undefined && REMOTE_KEYS.some((key) => value[key] !== undefined);
  const remote = isRemote ? RemoteEntrySchema.safeParse(value) : undefined;
  const parsed = remote ?? ServerEntrySchema.safeParse(value);
  if (!parsed.success) {
    const misspelled = isObject(value) ? misspelledKey(value) : undefined;
    if (misspelled !== undefined) {
      const [key, meant] = misspelled;
      const message = `is not a known key. Did you mean '${meant}'?`;
      issues.push({ level: 'error', file, path: renderPath([...base, key]), server: name, message });
      return undefined;
    }
    issues.push(...explainZodIssues(parsed.error, file, base).map((issue) => ({ ...issue, server: name })));
    return undefined;
  }
  reportUnknownKeys({ data: parsed.data, isRemote }, base, (level, path, message) => {
    issues.push({ level, file, path: renderPath(path), server: name, message });
  });
  return remote?.success === true
    ? { kind: 'remote', data: remote.data }
    : { kind: 'process', data: parsed.data as ServerEntry };
}

/** An entry with one of them is not one of a program. */
const REMOTE_KEYS = ['url', 'openapi', 'graphql', 'egress'] as const;

/** Ignoring such a key would share a server that was meant to be everyone's own. */
function isLikePerUser(key: string): boolean {
  return key !== 'per' && /^per(?:[_-]?(?:user|principal))?$/i.test(key);
}

function reportUnknownKeys(
  { data, isRemote }: { readonly data: Readonly<Record<string, unknown>>; readonly isRemote: boolean },
  base: readonly string[],
  report: (level: ConfigIssue['level'], path: readonly string[], message: string) => void,
): void {
  const known = isRemote ? KNOWN_REMOTE_KEYS : KNOWN_ENTRY_KEYS;
  if (!isRemote && data['url'] !== undefined) {
    report('warning', base, 'has both "command" and "url"; "url" is ignored');
  }
  const misspelled = Object.keys(data).find((key) => !known.has(key) && isLikePolicy(key));
  if (misspelled !== undefined) {
    report('warning', [...base, misspelled], "is not a known key, so it is not applied. Did you mean 'policy'?");
  }
  const unknown = Object.keys(data).filter((key) => !known.has(key) && key !== 'url');
  if (unknown.length > 0) {
    report('debug', base, `unknown keys were ignored: ${unknown.join(', ')}`);
  }
}

/** A key that was probably meant to be `command` or `url`, in an entry that has neither. */
function misspelledKey(entry: Readonly<Record<string, unknown>>): [key: string, meant: string] | undefined {
  const meant = ['command', 'url'];
  return meant.some((key) => Object.hasOwn(entry, key))
    ? undefined
    : Object.keys(entry)
        .flatMap((key): [string, string][] => meant.filter((known) => isNear(key, known)).map((known) => [key, known]))
        .at(0);
}

function isLikePolicy(key: string): boolean {
  return isNear(key, 'policy') || key.toLowerCase() === 'policies';
}

/** Whether the words differ by one letter that is missing, wrong or swapped with the next. */
function isNear(word: string, known: string): boolean {
  const shorter = (text: string): string[] =>
    Array.from({ length: text.length }, (_, at) => text.slice(0, at) + text.slice(at + 1));
  const given = word.toLowerCase();
  const forms = new Set([known, ...shorter(known)]);
  return forms.has(given) || shorter(given).some((form) => forms.has(form));
}

function expandRemote(entry: RemoteEntry, context: ExpandContext, onMissing: (variable: string) => void): RemoteEntry {
  const expand = (text: string): string => expandVariables(text, context, onMissing);
  const headers = Object.entries(entry.headers).map(([name, value]) => [name, expand(inOurNotation(value)).trim()]);
  const { oauth } = entry;
  const settings = Object.entries(oauth ?? {}).map(([key, value]) => [
    key,
    typeof value === 'string' ? expand(value) : value,
  ]);
  const expandPath = (text: string): string => expandHome(expand(text), context);
  const { egress, graphql, openapi } = entry;
  return {
    ...entry,
    url: expand(entry.url),
    ...(egress === undefined ? {} : { egress: expandEgress(egress, expand) }),
    headers: Object.fromEntries(headers),
    ...(openapi === undefined ? {} : { openapi: expandPath(openapi) }),
    ...(typeof graphql === 'string' ? { graphql: expandPath(graphql) } : {}),
    ...(oauth === undefined ? {} : { oauth: Object.fromEntries(settings) as typeof oauth }),
  };
}

/** The texts that may be secrets. */
function expandEgress({ keys, sign, ...rest }: EgressEntry, expand: (text: string) => string): EgressEntry {
  const texts = <Record extends object>(record: Record | undefined): Record | undefined =>
    record &&
    (Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        typeof value === 'string' ? expand(inOurNotation(value)) : value,
      ]),
    ) as Record);
  return {
    ...rest,
    keys: Object.fromEntries(
      Object.entries(keys).map(([name, { prefix, value }]) => [name, { prefix, value: expand(inOurNotation(value)) }]),
    ),
    sign: { aws: texts(sign.aws), jwt: texts(sign.jwt) },
  };
}

/** The definition, or what is wrong with its values. */
function toRemoteServer(entry: RemoteEntry, origin: Origin): ServerDefinition | string {
  const { egress, url, headers, oauth } = entry;
  const api = apiOf(entry, dirname(origin.file));
  if (typeof api === 'string') {
    return api;
  }
  const about = { url, transport: entry.type ?? entry.transport ?? ('auto' as const), headers, oauth };
  const described = api === undefined ? about : { ...about, api };
  const remote = egress === undefined ? described : { ...described, ...egressOf(egress) };
  return (
    explainRemoteValues(url, headers) ?? {
      ...remote,
      ...commonOf(withDefaultPolicy(entry, api !== undefined), origin, remote),
    }
  );
}

/** The description of an API, or what is wrong with it. A path is relative to the file that contains it. */
function apiOf({ egress, graphql, openapi }: RemoteEntry, folder: string): ApiSource | string | undefined {
  if (graphql !== undefined && openapi !== undefined) {
    return 'has both "openapi" and "graphql"; an entry is for one API';
  }
  const given = openapi ?? graphql;
  if (given === undefined) {
    return egress === undefined ? undefined : { kind: 'http', description: undefined };
  }
  const kind = openapi === undefined ? 'graphql' : 'openapi';
  if (given === true) {
    return { kind, description: undefined };
  }
  if (given.match(REFERENCE) !== null) {
    return `has a reference in "${kind}"; only variables such as \${NAME} are filled in there`;
  }
  const isAddress = /^https?:/i.test(given);
  if (isAddress && !URL.canParse(given)) {
    return `has an "${kind}" that is not a full address`;
  }
  return { kind, description: isAddress ? given : resolve(folder, given) };
}

/**
 * An API and a program were not made for someone who decides by himself, as a model does. So what may change something asks, unless the
 * entry has a default or preset of its own.
 */
function withDefaultPolicy<Entry extends ServerEntry | RemoteEntry>(entry: Entry, isNoMcpServer: boolean): Entry {
  const { policy = {} } = entry;
  const isDecided = !isObject(policy) || policy['default'] !== undefined || policy['preset'] !== undefined;
  return !isNoMcpServer || isDecided ? entry : { ...entry, policy: { ...policy, ...API_POLICY } };
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
    env: Object.fromEntries(Object.entries(entry.env).map(([name, value]) => [name, expand(inOurNotation(value))])),
    ...(entry.cwd === undefined ? {} : { cwd: expandPath(entry.cwd) }),
  };
}

function toDefinition(entry: ServerEntry, origin: Origin): ProcessServer {
  const { command, args, env, subcommands } = entry;
  const folder = dirname(origin.file);
  const cwd = entry.cwd === undefined ? undefined : resolve(folder, entry.cwd);
  const process = {
    // A path is relative to the file that contains it; a bare name is looked up on PATH.
    command: isRelativePath(command) ? resolve(cwd ?? folder, command) : command,
    args,
    env,
    cwd,
    ...(subcommands === undefined ? {} : { subcommands }),
  };
  return { ...process, ...commonOf(withDefaultPolicy(entry, subcommands !== undefined), origin, process) };
}

/** A change of `identity` makes it another server. */
function commonOf(entry: ServerEntry | RemoteEntry, origin: Origin, identity: object) {
  const fileDescription = typeof origin.fileDescription === 'string' ? origin.fileDescription : undefined;
  return {
    name: origin.name,
    description: entry.description ?? fileDescription,
    timeoutMs: entry.timeout,
    disabled: entry.disabled === true,
    pin: entry.pin,
    extends: entry.extends,
    isPerUser: entry.per === 'user',
    policy:
      entry.policy === undefined ? undefined : { value: entry.policy, path: [...origin.keys, origin.name, 'policy'] },
    definitionHash: createHash('sha256')
      .update(canonicalJson(withAccount(identity, entry, origin)))
      .digest('hex'),
    file: origin.file,
  };
}

/** Two accounts of one server may have the same address, but not the same tools, login or failures. */
function withAccount(identity: object, entry: ServerEntry | RemoteEntry, { name }: Origin): object {
  return entry.extends === undefined ? identity : { ...identity, account: name };
}

/** A reference is not a path until it is resolved. */
function isRelativePath(command: string): boolean {
  return /[\\/]/.test(command) && !isAbsolute(command) && command.match(REFERENCE) === null;
}

/** Adds the expanded variables. With references to files or commands, the same definition in another folder is another server. */
function withReferences(definition: ServerDefinition, variables: Readonly<Record<string, string>>): ServerDefinition {
  const { definitionHash, file } = definition;
  const hash = createHash('sha256')
    .update(`${definitionHash}\0${dirname(file)}`)
    .digest('hex');
  return {
    ...definition,
    ...(referenceKinds(definition).size === 0 ? {} : { definitionHash: hash }),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
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
