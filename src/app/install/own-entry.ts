/** Recognizes entries in a client's file that start the bridge, and among them those that `install` wrote. */
import { existsSync } from 'node:fs';
import { isObject } from '../../core/base/is-object.ts';
import { COMMAND_NAME } from '../../core/base/package.ts';
import { adoptEntry } from '../../edges/clients/entry.ts';
import type { FileObject } from '../../edges/clients/file-format.ts';
import { ENTRY_NAME, OTHER_NAME } from '../../edges/clients/registration.ts';
import { findSelfReference } from '../../edges/servers/self.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The command and arguments of an entry of any client. */
export function entryWords(value: unknown): string[] {
  const { command, args } = converted(value);
  return [command, ...(Array.isArray(args) ? args : [])].filter((word) => word !== undefined).map(String);
}

/** The variables of an entry of any client. */
export function entryVariables(value: unknown): Readonly<Record<string, string>> {
  const { env } = converted(value);
  return Object.fromEntries(Object.entries(isObject(env) ? env : {}).map(([name, text]) => [name, String(text)]));
}

function converted(value: unknown): FileObject {
  const entry = adoptEntry(value);
  return isObject(entry) ? entry : {};
}

/** Whether an entry starts the bridge. Covers entries that a user wrote under another name, and our own entries whose file is gone. */
export function isOwnEntry(name: string, value: unknown, env: Environment): boolean {
  const words = entryWords(value);
  const [command = '', ...args] = words;
  return findSelfReference({ name, command, args }, env) !== undefined || (isOurName(name) && isGone(words));
}

/** Whether an entry that starts the bridge has the name and command that this or an earlier version of `install` writes. */
export function isWrittenByInstall(name: string, value: unknown): boolean {
  const words = entryWords(value);
  return isOurName(name) && (fileOf(words) !== undefined || isNpx(words));
}

function isOurName(name: string): boolean {
  return name === ENTRY_NAME || name === OTHER_NAME;
}

function isNpx(words: readonly string[]): boolean {
  const [npx, yes, ...rest] = words[0] === 'cmd' && words[1] === '/c' ? words.slice(2) : words;
  const [spec = '', ...more] = rest[0]?.startsWith('--package=') === true ? rest.slice(1) : rest;
  return npx === 'npx' && yes === '-y' && spec.replace(/@.*/s, '') === COMMAND_NAME && more.length === 0;
}

/** The path in `node /path/dist/cli.js`. */
function fileOf(words: readonly string[]): string | undefined {
  const [command = '', file = '', ...more] = words;
  const isCli = /^(?:\/|[a-z]:[\\/]|\\\\).*[\\/]dist[\\/]cli\.js$/is.test(file);
  return isCli && more.length === 0 && /(?:^|[\\/])node[^\\/]*$/i.test(command) ? file : undefined;
}

/** Whether the entry starts a checkout that was moved or removed. */
function isGone(words: readonly string[]): boolean {
  const file = fileOf(words);
  return file !== undefined && !existsSync(file);
}
