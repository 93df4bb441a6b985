/** What `servers add` writes: entries as they belong into a server file, made from what was typed. */

import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BridgeError } from '../base/errors.ts';
import { isObject } from '../base/is-object.ts';
import { parseJson } from '../base/json-text.ts';
import type { FileObject } from '../clients/file-format.ts';
import { MAX_SERVER_FILE_BYTES } from '../servers/discover.ts';
import type { EntryWishes } from './edit-command-line.ts';
import { findExample, type NewEntries } from './examples.ts';

export interface EntryContext {
  /** Where the command was typed. */
  readonly cwd: string;
  readonly input: NodeJS.ReadableStream;
}

const TRANSPORTS = ['stdio', 'http', 'sse'];
const SOURCES = 'a command after --, --url, --example or --json-entry';

/** The entries wished for, under `name` if there is one. Rejects with `USAGE_INVALID`. */
export async function createEntries(
  name: string | undefined,
  wishes: EntryWishes,
  context: EntryContext,
): Promise<NewEntries> {
  const base = await baseOf(name, wishes, context);
  const chosen = renamed(base.entries, name);
  return { ...base, entries: chosen.map(([key, entry]) => [key, withOptions(entry, wishes, context)] as const) };
}

/** What the rest of the options is put into. */
async function baseOf(
  name: string | undefined,
  { words, url, transport, example, json }: EntryWishes,
  { cwd, input }: EntryContext,
): Promise<NewEntries> {
  const given = [words.length > 0, url !== undefined, example !== undefined, json !== undefined].filter(Boolean);
  if (given.length !== 1) {
    const what = given.length === 0 ? 'is missing' : 'is given twice';
    throw usage(`what to start or to reach ${what}`, `Give one of ${SOURCES}: servers add NAME -- COMMAND ARG…`);
  }
  if (typeof example === 'string') {
    return findExample(example);
  }
  if (json !== undefined) {
    return { entries: readEntries(json === '-' ? await readInput(input) : json, name) };
  }
  if (name === undefined) {
    throw usage('the name of the server is missing', 'Write it first: servers add NAME -- COMMAND ARG…');
  }
  const kind = transport?.toLowerCase();
  if (kind !== undefined && !TRANSPORTS.includes(kind)) {
    throw usage(`--transport is '${transport}'; allowed: ${TRANSPORTS.join(', ')}`);
  }
  if (url !== undefined) {
    if (kind === 'stdio') {
      throw usage('--transport is stdio, which is for servers that are started here, and there is an address');
    }
    return { entries: [[name, { ...(kind === undefined ? {} : { type: kind }), url }]] };
  }
  if (kind !== undefined && kind !== 'stdio') {
    throw usage(`--transport is ${kind}, which is for remote servers, and there is a command`, 'Give --url URL.');
  }
  const [command, ...args] = words;
  return { entries: [[name, { command, ...(args.length > 0 ? { args } : {}), ...folderOf(words, cwd) }]] };
}

/** What is longer would not be read from a server file either. */
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

/** An entry, or entries by name under `mcpServers`: what READMEs of servers show. */
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
    throw usage('the name of the server is missing', "Write it first: servers add NAME --json-entry '{…}'");
  }
  return [[name, objectOf(value)]];
}

function objectOf(entry: unknown): FileObject {
  if (!isObject(entry)) {
    throw usage(
      '--json-entry holds no object',
      'It is an entry such as {"command": "npx", "args": ["-y", "PACKAGE"]}.',
    );
  }
  return entry;
}

/** The only entry gets the name; of several, the one that has it already is meant. */
function renamed(entries: NewEntries['entries'], name: string | undefined): NewEntries['entries'] {
  if (name === undefined) {
    if (entries.length === 0) {
      throw usage('--json-entry holds no server');
    }
    return entries;
  }
  const same = entries.filter(([key]) => key === name);
  const [only, ...others] = same.length > 0 ? same : entries;
  if (only === undefined || others.length > 0) {
    const names = entries.map(([key]) => `'${key}'`).join(', ');
    throw usage(`there is no one server to call '${name}', but ${names || 'none'}`, 'Leave the name out, to add all.');
  }
  return [[name, only[1]]];
}

function withOptions(entry: FileObject, wishes: EntryWishes, { cwd }: EntryContext): FileObject {
  const { description, timeout } = wishes;
  const isRemote = entry['url'] !== undefined;
  if (isRemote && (wishes.env.length > 0 || wishes.cwd !== undefined)) {
    throw usage('--env and --cwd are for servers that are started here, and this one has an address');
  }
  if (!isRemote && wishes.headers.length > 0) {
    throw usage('--header is for remote servers, and this one is started here', 'Variables for it: --env KEY=VALUE.');
  }
  return {
    ...entry,
    ...merged(entry, 'env', wishes.env.map(readVariable)),
    ...merged(entry, 'headers', wishes.headers.map(readHeader)),
    ...(wishes.cwd === undefined ? {} : { cwd: folder(wishes.cwd, cwd) }),
    ...(description === undefined ? {} : { description }),
    ...(timeout === undefined ? {} : { timeout }),
  };
}

function merged(entry: FileObject, key: string, pairs: readonly [string, string][]): FileObject {
  const before = entry[key];
  return pairs.length === 0 ? {} : { [key]: { ...(isObject(before) ? before : {}), ...Object.fromEntries(pairs) } };
}

/** `KEY=VALUE`, or `KEY` alone, as Docker has it, for the variable of that name. What was typed is not repeated: it may be a secret. */
function readVariable(typed: string): [string, string] {
  const [, name = '', value] = /^([^=\s]+)(?:=(.*))?$/s.exec(typed) ?? [];
  if (name === '' || (value === undefined && !/^[A-Za-z_]\w*$/.test(name))) {
    throw usage('a value of --env is not KEY=VALUE, and not the name of a variable', 'Write --env KEY=VALUE.');
  }
  return [name, value ?? `\${${name}}`];
}

function readHeader(typed: string): [string, string] {
  const [, name, value] = /^\s*([^\s:]+)\s*:\s*(.*?)\s*$/s.exec(typed) ?? [];
  if (name === undefined || value === undefined) {
    throw usage('a value of --header is not a header', "Write --header 'Name: value'.");
  }
  return [name, value];
}

/** Paths typed in a shell count from the folder that it is in; in a server file they would count from somewhere else. */
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
  // A folder of the same name as a word such as `start` is chance.
  return existsSync(path) && (/[\\/]/.test(word) || statSync(path).isFile());
}

function folder(path: string, cwd: string): string {
  return /^(?:~|\$\{)/.test(path) ? path : resolve(cwd, path);
}

function usage(message: string, hint?: string): BridgeError {
  return new BridgeError('USAGE_INVALID', message, { hint: hint ?? 'Add --help to see what there is.' });
}
