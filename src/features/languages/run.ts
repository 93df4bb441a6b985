/** `snippets`: lists, prints, stores and removes snippets. Runs none of them. */
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { BridgeError, messageOf, toBridgeError } from '../../core/base/errors.ts';
import { MAX_SNIPPET_BYTES } from '../../core/base/limits.ts';
import { escapeInLines, renderJson } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { counted } from '../../core/base/units.ts';
import type { CommandContext, CommandHost, LineFor } from '../../edges/terminal/command.ts';
import { confirm } from '../../edges/terminal/confirm.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { SnippetsCommand } from './command.ts';
import { extensionOf, type Language, type Languages, readLanguages } from './languages-file.ts';
import { type SharedSnippet, type SharedSnippets, sharedSnippets } from './shared-snippets.ts';
import { decodeCode, type ListedSnippet, type NewSnippet, nameOf, Snippets } from './snippets.ts';

export type SnippetsOptions = Pick<CommandContext, 'settings' | 'logger'> &
  Pick<CommandHost, 'input' | 'writeOut' | 'writeError' | 'isShown' | 'findPerson'>;

/** Resolves with 0. Rejects with `USAGE_INVALID`, `CONFIG_INVALID` or `STATE_WRITE_FAILED`. */
export async function manageSnippets(command: SnippetsCommand, options: SnippetsOptions): Promise<number> {
  const { settings } = options;
  const languages = await readLanguages(settings.stateDir);
  const shared = sharedSnippets(settings, async () => languages, options.logger.warning);
  const snippets = new Snippets(settings.stateDir, async () => languages, shared);
  const print = (json: unknown, text: string): void => {
    options.writeOut(command.isJson ? renderJson(json) : text);
  };
  try {
    switch (command.action) {
      case 'list': {
        const [listed, ofOthers] = await Promise.all([snippets.list(), shared.list()]);
        print([...listed.map(reportOf), ...ofOthers.map(reportShared)], renderListed(listed, ofOthers));
        break;
      }
      case 'show': {
        // Also one that no one has approved: this is how a person reads it.
        const { code, fileName, language, name } = await snippets.find(command.name, { isToRead: true });
        // Exact for pipes; on a terminal, without sequences that could act on it.
        print({ name, language: language.name, file: fileName, code }, options.isShown ? escapeInLines(code) : code);
        break;
      }
      case 'add': {
        const snippet = await readNew(command, languages, options.input);
        const { change, fileName } = await snippets.add(snippet, { mayReplace: command.isForced });
        const done = { none: 'is already stored as', create: 'stored as', replace: 'replaced' }[change];
        print(
          { name: snippet.name, language: snippet.language.name, file: fileName, change },
          `${snippet.name}: ${done} ${fileName}\n`,
        );
        break;
      }
      case 'approve': {
        const names = (await approveShared(command, shared, options)).map(({ name }) => name);
        const text = names.length === 0 ? 'Nothing has to be approved.' : `Approved: ${names.join(', ')}.`;
        print({ approved: names }, `${text}\n`);
        break;
      }
      case 'rm': {
        const removed: string[] = [];
        for (const name of command.names) {
          removed.push(await snippets.remove(name));
        }
        print(removed, removed.map((fileName) => `removed ${escapeInLines(fileName)}\n`).join(''));
        break;
      }
    }
  } catch (error) {
    throw forPeople(toBridgeError(error));
  }
  return 0;
}

/** What a model reads as `CALL_REFUSED` is a mistake on the command line here. */
function forPeople(error: BridgeError): BridgeError {
  return error.code === 'CALL_REFUSED'
    ? new BridgeError('USAGE_INVALID', error.message, { hint: `Run: ${COMMAND} snippets list`, cause: error })
    : error;
}

/** Shows what is new or has changed, and asks. Resolves with what was approved. */
async function approveShared(
  { isJson, isSure, names }: LineFor<SnippetsCommand, 'approve'>,
  shared: SharedSnippets,
  { findPerson, writeError, writeOut }: SnippetsOptions,
): Promise<SharedSnippet[]> {
  const all = await shared.list();
  const wanted = await Promise.all(names.map((name) => findShared(name, all)));
  const waiting = wanted.filter(({ state }) => state !== 'approved');
  for (const { code, path, state } of waiting) {
    const lines = code.trimEnd().split('\n');
    const text = [`${path} (${state}):`, ...lines.map((line) => `  | ${line}`)].join('\n');
    (isJson ? writeError : writeOut)(`${escapeInLines(text)}\n`);
  }
  if (waiting.length > 0) {
    await confirm(`Let programs run ${waiting.map(({ name }) => name).join(', ')}?`, isSure, { findPerson });
  }
  for (const snippet of waiting) {
    // biome-ignore lint/performance/noAwaitInLoops: they share a lock.
    await shared.approve(snippet);
  }
  return waiting;
}

async function findShared(name: string, all: readonly SharedSnippet[]): Promise<SharedSnippet> {
  const found = all.find((one) => one.name === name);
  if (found === undefined) {
    const names = all.map((one) => one.name);
    throw new BridgeError('USAGE_INVALID', `there is no shared snippet '${name}'.${await didYouMean(name, names)}`, {
      hint:
        names.length === 0
          ? 'MCP_BRIDGE_TOOLBOX names the folders with shared snippets.'
          : `Run: ${COMMAND} snippets list`,
    });
  }
  return found;
}

const PROBLEMS = { new: 'not approved yet', changed: 'changed since it was approved' } as const;

function reportShared({ fileName, language, modified, name, path, sizeBytes, state }: SharedSnippet) {
  const file = { file: fileName, path, bytes: sizeBytes, modified: modified.toISOString() };
  return { name, language: language.name, ...file, problem: state === 'approved' ? null : PROBLEMS[state] };
}

function reportOf({ fileName, language, modified, name, problem, sizeBytes }: ListedSnippet) {
  return {
    name,
    language: language?.name ?? null,
    file: fileName,
    bytes: sizeBytes,
    modified: modified.toISOString(),
    problem: problem ?? null,
  };
}

function renderListed(listed: readonly ListedSnippet[], shared: readonly SharedSnippet[]): string {
  const rows = listed.map(({ fileName, language, name, problem, sizeBytes }) =>
    problem === undefined
      ? [name, language?.name ?? '', counted(sizeBytes, 'byte'), '']
      : [fileName, '', counted(sizeBytes, 'byte'), `cannot be used: ${problem}`],
  );
  const ofOthers = shared.map(({ language, name, path, sizeBytes, state }) => {
    const remark = state === 'approved' ? `shared: ${path}` : `shared, ${PROBLEMS[state]}: ${path}`;
    return [name, language.name, counted(sizeBytes, 'byte'), remark];
  });
  return renderTable(
    [...rows, ...ofOthers],
    `There are no snippets. To store a file as one, run: ${COMMAND} snippets add FILE`,
  );
}

async function readNew(
  command: LineFor<SnippetsCommand, 'add'>,
  languages: Languages,
  input: NodeJS.ReadableStream,
): Promise<NewSnippet> {
  const { file, language: wanted, nameOrFile } = command;
  // No name has a dot or a slash.
  const isFile = file === undefined && wanted === undefined && /[./\\]/.test(nameOrFile);
  const path = isFile ? nameOrFile : (file ?? '-');
  const name = isFile ? nameOf(basename(nameOrFile)) : nameOrFile;
  const ofFile = path === '-' ? undefined : languages.byFileName(path);
  const language = wanted === undefined ? ofFile : languages.find(wanted);
  if (language === undefined) {
    throw await noLanguage(wanted, path, languages);
  }
  const extension = language === ofFile ? extensionOf(path).toLowerCase() : undefined;
  return { name, language, extension, code: await readNewCode(path, input) };
}

async function noLanguage(wanted: string | undefined, path: string, { all }: Languages): Promise<BridgeError> {
  const hint = `The languages are ${all.map(({ name }: Language) => name).join(', ')}; languages.json can add others.`;
  if (wanted !== undefined) {
    const known = all.flatMap(({ aliases, name }) => [name, ...aliases]);
    return new BridgeError('USAGE_INVALID', `there is no language '${wanted}'.${await didYouMean(wanted, known)}`, {
      hint,
    });
  }
  return path === '-'
    ? new BridgeError('USAGE_INVALID', 'code from standard input needs --language', { hint })
    : new BridgeError('USAGE_INVALID', `no language has the extension of '${path}'`, {
        hint: `Add --language. ${hint}`,
      });
}

async function readNewCode(path: string, input: NodeJS.ReadableStream): Promise<string> {
  try {
    return decodeCode(path === '-' ? await readInput(input) : await readFileBounded(path));
  } catch (cause) {
    const what = path === '-' ? 'standard input' : `'${path}'`;
    throw new BridgeError('USAGE_INVALID', `could not read ${what}: ${messageOf(cause)}`, { cause });
  }
}

async function readFileBounded(path: string): Promise<Buffer> {
  const stats = await stat(path);
  if (!stats.isFile()) {
    throw new Error('it is not a file');
  }
  checkSize(stats.size);
  return readFile(path);
}

async function readInput(input: NodeJS.ReadableStream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of input) {
    const buffer = Buffer.from(piece);
    bytes += buffer.length;
    checkSize(bytes);
    pieces.push(buffer);
  }
  return Buffer.concat(pieces);
}

function checkSize(bytes: number): void {
  if (bytes > MAX_SNIPPET_BYTES) {
    throw new Error(`it has more than ${counted(MAX_SNIPPET_BYTES, 'byte')}, the limit for a snippet`);
  }
}
