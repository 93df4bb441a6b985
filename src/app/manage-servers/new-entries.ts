/** Builds the entries that `servers add` writes, from its options. */

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { parseJson } from '../../core/base/json-text.ts';
import { COMMAND } from '../../core/base/package.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import { aliasOf, planEntry } from '../../edges/registries/entry.ts';
import type { NewServers } from '../../edges/registries/find.ts';
import { MAX_SERVER_FILE_BYTES } from '../../edges/servers/discover.ts';
import type { LineFor } from '../../edges/terminal/command.ts';
import type { EditServersCommand } from './command.ts';
import { findExample, type NewEntries } from './examples.ts';

export interface EntryContext {
  /** The folder that relative paths refer to. */
  readonly cwd: string;
  readonly input: NodeJS.ReadableStream;
  readonly newServers: Pick<NewServers, 'lookUp'>;
}

const SERVERS_ADD = `${COMMAND} servers add`;
const TRANSPORTS = ['stdio', 'http', 'sse'];

type AddLine = LineFor<EditServersCommand, 'add'>;

/** The new entries, under `name` if one is given. Rejects with `USAGE_INVALID`. */
export async function createEntries(line: AddLine, context: EntryContext): Promise<NewEntries> {
  const typed = withUrl(line);
  checkOptions(typed);
  const base = await baseOf(typed, context);
  const chosen = renamed(base.entries, typed.name).map(
    ([key, entry]) => [key, withOptions(entry, typed, context)] as const,
  );
  const { auth } = typed;
  if (auth === undefined) {
    return { ...base, entries: chosen };
  }
  const { withCredential } = await import('./api-entries.ts');
  return { ...base, entries: chosen.map(([key, entry]) => [key, withCredential(entry, key, auth)] as const) };
}

/** `claude mcp add --transport http NAME URL` puts the URL in the place of the command. */
function withUrl(line: AddLine): AddLine {
  const [url = '', ...others] = line.words;
  const isUrl = others.length === 0 && line.url === undefined && /^https?:\/\//i.test(url);
  return isUrl ? { ...line, words: [], url } : line;
}

/** The entries before the other options are applied. */
async function baseOf(line: AddLine, { cwd, input, newServers }: EntryContext): Promise<NewEntries> {
  const { name, words, url, transport, egress, example, from, json, openapi, graphql } = line;
  // An entry of an API has both.
  const alone = openapi === undefined ? url : undefined;
  const others = [alone, egress, example, from, json, openapi, graphql].map((one) => one !== undefined);
  const given = [words.length > 0, ...others].filter(Boolean);
  if (given.length !== 1) {
    const what =
      given.length === 0
        ? 'no command or URL was given'
        : 'more than one command, URL, description, example or entry was given';
    throw usage(
      what,
      `Give a command after --, as in: ${SERVERS_ADD} NAME -- COMMAND ARG…; or --url, --openapi, --graphql, --egress, --example, --from or --json-entry.`,
    );
  }
  if (typeof example === 'string') {
    return findExample(example);
  }
  if (from !== undefined) {
    return newEntry(from, line, newServers);
  }
  if (json !== undefined) {
    return { entries: readEntries(json === '-' ? await readInput(input) : json, name) };
  }
  if (name === undefined) {
    throw usage('the name of the server is missing', `Write the name first: ${SERVERS_ADD} NAME -- COMMAND ARG…`);
  }
  if ([egress, openapi, graphql].some((one) => one !== undefined)) {
    return apiEntries({ ...line, name }, cwd);
  }
  const kind = transport?.toLowerCase();
  if (kind !== undefined && !TRANSPORTS.includes(kind)) {
    throw usage(`--transport is '${transport}'; allowed: ${TRANSPORTS.join(', ')}`);
  }
  if (url !== undefined) {
    if (kind === 'stdio') {
      throw usage('--transport stdio cannot be combined with a URL', 'Leave out --transport, or use http or sse.');
    }
    return { entries: [[name, { ...(kind === undefined ? {} : { type: kind }), url }]] };
  }
  if (kind !== undefined && kind !== 'stdio') {
    throw usage(`--transport ${kind} needs a URL, not a command`, 'Give --url URL instead of the command.');
  }
  const [command, ...args] = words;
  return { entries: [[name, { command, ...(args.length > 0 ? { args } : {}), ...folderOf(words, cwd) }]] };
}

async function apiEntries(line: AddLine & { readonly name: string }, cwd: string): Promise<NewEntries> {
  const { auth, baseUrl, egress, headers, url } = line;
  const { createApiEntry, createEgressEntry } = await import('./api-entries.ts');
  if (egress !== undefined) {
    return createEgressEntry({ ...line, egress });
  }
  const hasCredentials = auth !== undefined || headers.length > 0;
  return createApiEntry({ ...line, baseUrl: baseUrl ?? url, hasCredentials }, cwd);
}

/** Options that belong to others. */
function checkOptions({ auth, baseUrl, egress, graphql, keys, openapi, schema, url }: AddLine): void {
  if (baseUrl !== undefined && openapi === undefined) {
    throw usage('--base-url is for --openapi', 'Write --openapi FILE, or --url for an MCP server.');
  }
  if (schema !== undefined && graphql === undefined) {
    throw usage('--schema is for --graphql', 'Write --graphql URL.');
  }
  if (keys.length > 0 && egress === undefined) {
    throw usage('--key is for --egress', 'Write --egress URL, or give the key to a program with --env KEY.');
  }
  if (auth !== undefined && [egress, graphql, openapi, url].every((one) => one === undefined)) {
    throw usage('--auth is for servers with an address', 'Give the key to a program with --env KEY.');
  }
}

/** The entry of a server in a registry or catalog, under its own name unless another is given. */
async function newEntry(
  from: string,
  { name, sets }: Pick<AddLine, 'name' | 'sets'>,
  newServers: EntryContext['newServers'],
): Promise<NewEntries> {
  const { server } = await newServers.lookUp(from);
  const alias = name ?? aliasOf(from);
  const { entry, secrets } = planEntry(server, { alias, values: Object.fromEntries(sets.map(readVariable)) });
  const commands = secrets.map((secret) => `${COMMAND} secrets set ${secret}`);
  return { entries: [[alias, entry]], ...(commands.length === 0 ? {} : { needs: `${commands.join('; ')}.` }) };
}

/** Reads the entry from stdin, up to the size limit of server files. */
async function readInput(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_SERVER_FILE_BYTES) {
      throw usage(`--json-entry has more than ${MAX_SERVER_FILE_BYTES} bytes`, 'Give it one entry, or a few.');
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Parses one entry, or entries by name under `mcpServers`, as READMEs of servers show them. */
function readEntries(json: string, name: string | undefined): [string, FileObject][] {
  const parsed = parseJson(json);
  if ('fault' in parsed) {
    throw usage(`--json-entry ${parsed.fault}`);
  }
  const { value } = parsed;
  const servers = isObject(value) ? value['mcpServers'] : undefined;
  if (isObject(servers)) {
    return Object.entries(servers).map(([key, entry]) => [key, objectOf(entry)]);
  }
  if (name === undefined) {
    throw usage('the name of the server is missing', `Write the name first: ${SERVERS_ADD} NAME --json-entry '{…}'`);
  }
  return [[name, objectOf(value)]];
}

function objectOf(entry: unknown): FileObject {
  if (!isObject(entry)) {
    throw usage(
      '--json-entry is not a JSON object',
      'Give an entry such as {"command": "npx", "args": ["-y", "PACKAGE"]}.',
    );
  }
  return entry;
}

/** Gives `name` to the only entry, or selects the entry with that name from several. */
function renamed(entries: NewEntries['entries'], name: string | undefined): NewEntries['entries'] {
  if (name === undefined) {
    if (entries.length === 0) {
      throw usage('--json-entry contains no server');
    }
    return entries;
  }
  const same = entries.filter(([key]) => key === name);
  const [only, ...others] = same.length > 0 ? same : entries;
  if (only === undefined || others.length > 0) {
    const names = entries.map(([key]) => `'${key}'`).join(', ');
    throw usage(
      `cannot tell which server to call '${name}': there ${names === '' ? 'are none' : `are ${names}`}`,
      'Leave out the name to add all of them.',
    );
  }
  return [[name, only[1]]];
}

function withOptions(entry: FileObject, typed: AddLine, { cwd }: EntryContext): FileObject {
  const { description, timeout } = typed;
  const isRemote = entry['url'] !== undefined;
  if (isRemote && (typed.env.length > 0 || typed.cwd !== undefined)) {
    throw usage('--env and --cwd do not apply to remote servers', 'To send a key, add --header.');
  }
  if (!isRemote && typed.headers.length > 0) {
    throw usage('--header applies only to remote servers', 'To set a variable, add --env KEY=VALUE.');
  }
  return {
    ...entry,
    ...merged(entry, 'env', typed.env.map(readVariable)),
    ...merged(entry, 'headers', typed.headers.map(readHeader)),
    ...(typed.cwd === undefined ? {} : { cwd: folder(typed.cwd, cwd) }),
    ...(description === undefined ? {} : { description }),
    ...(timeout === undefined ? {} : { timeout }),
  };
}

function merged(entry: FileObject, key: string, pairs: readonly [string, string][]): FileObject {
  const before = entry[key];
  return pairs.length === 0 ? {} : { [key]: { ...(isObject(before) ? before : {}), ...Object.fromEntries(pairs) } };
}

/** `KEY=VALUE`, or as with Docker, `KEY` for the variable with that name. Errors do not repeat the text, which may be a secret. */
function readVariable(text: string): [string, string] {
  const [, name = '', value] = /^([^=\s]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name === '' || (value === undefined && !/^[A-Za-z_]\w*$/.test(name))) {
    throw usage('a value of --env is neither KEY=VALUE nor the name of a variable', 'Write --env KEY=VALUE.');
  }
  return [name, value ?? `\${${name}}`];
}

function readHeader(text: string): [string, string] {
  const [, name, value] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usage('a value of --header is not a valid header', "Write --header 'Name: value'.");
  }
  return [name, value];
}

/** `cwd` if the command contains relative paths. In the shell they refer to the current folder; in a server file they would not. */
function folderOf(words: readonly string[], cwd: string): FileObject {
  return words.some((word, index) => isPathHere(word, cwd, index === 0)) ? { cwd } : {};
}

function isPathHere(word: string, cwd: string, isCommand: boolean): boolean {
  if (/^\.{1,2}(?:[\\/]|$)/.test(word)) {
    return true;
  }
  if (/^(?:[\\/~$-]|[a-z]:[\\/])/i.test(word) || (isCommand && !/[\\/]/.test(word))) {
    return false;
  }
  const path = resolve(cwd, word);
  // A folder with the name of a word such as `start` is a coincidence.
  return existsSync(path) && (/[\\/]/.test(word) || statSync(path).isFile());
}

function folder(path: string, cwd: string): string {
  return /^(?:~|\$\{)/.test(path) ? path : resolve(cwd, path);
}

function usage(message: string, hint?: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint: hint ?? `For usage, run: ${SERVERS_ADD} --help` });
}
