/**
 * Snippets: programs that people store in `STATE_DIR/snippets/`, one file each. A snippet has the name of its file without the
 * extension, and the language of the extension. Names can come from a model, so they are checked against a pattern before they
 * become part of a path, and links in the folder are not followed. Two files of one name are an error, even if they differ only
 * in case: on some file systems they would be the same file.
 */
import type { Stats } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { MAX_SNIPPET_BYTES, MAX_SNIPPETS } from '../../core/base/limits.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { counted } from '../../core/base/units.ts';
import type { ConsentState } from '../../core/state/file-consents.ts';
import {
  checkDirectory,
  ensureDirectory,
  readBounded,
  TEMPORARY_SUFFIX,
  writeAtomically,
} from '../../core/state/state-files.ts';
import { extensionOf, type Language, type Languages } from './languages-file.ts';

export interface Snippet {
  readonly name: string;
  readonly language: Language;
  readonly fileName: string;
  readonly code: string;
}

/** A file of the folder. */
export interface ListedSnippet {
  /** Empty if the file has only an extension. */
  readonly name: string;
  readonly fileName: string;
  /** Undefined if no language has its extension. */
  readonly language: Language | undefined;
  readonly sizeBytes: number;
  readonly modified: Date;
  /** Why it cannot be used, in one clause. */
  readonly problem: string | undefined;
}

/** What to store. */
export interface NewSnippet {
  readonly name: string;
  readonly language: Language;
  /** One of the language; by default its first. */
  readonly extension?: string | undefined;
  readonly code: string;
}

/** What storing a snippet would do. */
export interface SnippetPlan {
  readonly fileName: string;
  readonly change: 'none' | 'create' | 'replace';
  /** Files of the same name that would go. */
  readonly replaced: readonly string[];
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
/** Names of devices on Windows. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)$/i;
const NAME_RULE = "1 to 64 letters, digits, '_' and '-', such as daily-report, without an extension";

/** Where snippets of other people come from; see `SharedSnippets`. */
export interface SnippetsOfOthers {
  list(): Promise<readonly (Snippet & { readonly path: string; readonly state: ConsentState })[]>;
}

export class Snippets {
  readonly #folder: string;
  readonly #languages: () => Promise<Languages>;
  readonly #shared: SnippetsOfOthers | undefined;

  /** `languages` is asked each time, and its rejections are passed on. Of two with the same name, the own one runs. */
  constructor(stateDir: string, languages: () => Promise<Languages>, shared?: SnippetsOfOthers) {
    this.#folder = join(stateDir, 'snippets');
    this.#languages = languages;
    this.#shared = shared;
  }

  /**
   * Rejects with `CALL_REFUSED` if there is no usable snippet with that name, or a shared one that no one has approved, unless it is
   * only to be read.
   */
  async find(name: string, { isToRead = false }: { readonly isToRead?: boolean } = {}): Promise<Snippet> {
    const files = await this.list();
    const file = files.find((one) => one.name === name);
    if (file === undefined) {
      const shared = (await this.#shared?.list()) ?? [];
      const one = shared.find((each) => each.name === name);
      if (one !== undefined) {
        return isToRead ? one : approved(one);
      }
      const own = files.filter(({ problem }) => problem === undefined).map((each) => each.name);
      const usable = [...own, ...shared.map((each) => each.name)];
      const shown = JSON.stringify(name.slice(0, 80)).slice(1, -1).replaceAll('\\"', '"');
      throw new BridgeError(
        'CALL_REFUSED',
        `there is no snippet '${shown}'.${await didYouMean(name.slice(0, 80), usable)}`,
        {
          hint:
            usable.length === 0
              ? `There are no snippets. Ask the user to add one with: ${COMMAND} snippets add`
              : 'The name is that of the file, without its extension. The resource list of this server shows all snippets.',
        },
      );
    }
    if (file.problem !== undefined || file.language === undefined) {
      throw unusable(file.fileName, file.problem ?? 'has no language');
    }
    const { language, fileName } = file;
    return { name, language, fileName, code: await this.#read(fileName) };
  }

  /** Every file of the folder except hidden ones, sorted by name, at most `MAX_SNIPPETS`. Rejects with `CALL_REFUSED`. */
  async list(): Promise<ListedSnippet[]> {
    const [languages, fileNames] = await Promise.all([this.#languages(), this.#fileNames()]);
    const counts = new Map<string, number>();
    for (const key of fileNames.map((one) => nameOf(one).toLowerCase())) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const listed: ListedSnippet[] = [];
    for (const fileName of fileNames.slice(0, MAX_SNIPPETS)) {
      // Undefined if it was removed meanwhile.
      const stats = await lstat(join(this.#folder, fileName)).catch(() => undefined);
      if (stats !== undefined) {
        const name = nameOf(fileName);
        const language = languages.byFileName(fileName);
        const isAlone = counts.get(name.toLowerCase()) === 1;
        const problem = whyUnusable({ name, fileName, language, isAlone }, stats);
        listed.push({ name, fileName, language, sizeBytes: stats.size, modified: stats.mtime, problem });
      }
    }
    return listed;
  }

  /** What `add` would do. Rejects with `USAGE_INVALID` for what cannot be stored. */
  async plan({ name, language, extension = language.extensions[0] ?? '', code }: NewSnippet): Promise<SnippetPlan> {
    checkName(name);
    checkCode(name, code);
    const fileName = `${name}${extension}`;
    const fileNames = await this.#fileNames();
    const same = fileNames.filter((one) => nameOf(one).toLowerCase() === name.toLowerCase());
    const otherCase = same.find((one) => nameOf(one) !== name);
    if (otherCase !== undefined) {
      throw new BridgeError('USAGE_INVALID', `'${fileName}' and the stored '${otherCase}' differ only in case`, {
        hint: 'Choose another name, or remove the stored one.',
      });
    }
    if (same.length === 0 && fileNames.length >= MAX_SNIPPETS) {
      throw new BridgeError(
        'USAGE_INVALID',
        `there are ${counted(fileNames.length, 'snippet')}; the limit is ${MAX_SNIPPETS}`,
        {
          hint: `Remove one with: ${COMMAND} snippets rm`,
        },
      );
    }
    const isStored = same.length === 1 && same[0] === fileName && (await this.#holds(fileName, code));
    return isStored
      ? { fileName, change: 'none', replaced: [] }
      : { fileName, change: same.length === 0 ? 'create' : 'replace', replaced: same };
  }

  /**
   * Stores a snippet. Rejects with `USAGE_INVALID` if there is another of that name, unless it may be replaced, and for what cannot
   * be stored; with `STATE_WRITE_FAILED` if the file cannot be written.
   */
  async add(snippet: NewSnippet, { mayReplace = false } = {}): Promise<SnippetPlan> {
    const plan = await this.plan(snippet);
    if (plan.change === 'replace' && !mayReplace) {
      throw new BridgeError(
        'USAGE_INVALID',
        `there is already a snippet '${snippet.name}': ${plan.replaced.join(', ')}`,
        {
          hint: 'Add --force to replace it, or choose another name.',
        },
      );
    }
    if (plan.change !== 'none') {
      try {
        await ensureDirectory(this.#folder);
        await writeAtomically(join(this.#folder, plan.fileName), [snippet.code]);
        for (const old of plan.replaced.filter((one) => one !== plan.fileName)) {
          await rm(join(this.#folder, old));
        }
      } catch (error) {
        throw writeFailed(this.#folder, error);
      }
    }
    return plan;
  }

  /** Removes the file of a snippet, usable or not. Takes a name, or the name of the file. Rejects like `add`. */
  async remove(nameOrFile: string): Promise<string> {
    const fileNames = await this.#fileNames();
    const exact = fileNames.filter((one) => one === nameOrFile);
    const found = exact.length > 0 ? exact : fileNames.filter((one) => nameOf(one) === nameOrFile);
    const [fileName] = found;
    if (fileName === undefined) {
      const shown = nameOrFile.slice(0, 80);
      throw new BridgeError(
        'USAGE_INVALID',
        `there is no snippet '${shown}'.${await didYouMean(shown, fileNames.map(nameOf))}`,
        {
          hint: `Run: ${COMMAND} snippets list`,
        },
      );
    }
    if (found.length > 1) {
      throw new BridgeError('USAGE_INVALID', `several files have the name '${nameOrFile}': ${found.join(', ')}`, {
        hint: 'Give the name of the file with its extension.',
      });
    }
    try {
      await rm(join(this.#folder, fileName));
      return fileName;
    } catch (error) {
      throw writeFailed(this.#folder, error);
    }
  }

  /** Sorted, without hidden files and what is being written. Empty if there is no folder. */
  async #fileNames(): Promise<string[]> {
    try {
      await checkDirectory(this.#folder);
      const names = await readdir(this.#folder);
      return names.filter((one) => !one.startsWith('.') && !one.endsWith(TEMPORARY_SUFFIX)).toSorted();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        return [];
      }
      throw new BridgeError('CALL_REFUSED', `the folder of snippets cannot be read: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async #read(fileName: string): Promise<string> {
    try {
      const bytes = await readBounded(join(this.#folder, fileName), MAX_SNIPPET_BYTES);
      return decodeCode(bytes);
    } catch (error) {
      throw unusable(fileName, `cannot be read: ${messageOf(error)}`);
    }
  }

  async #holds(fileName: string, code: string): Promise<boolean> {
    return (await this.#read(fileName).catch(() => undefined)) === code;
  }
}

/** Throws `CALL_REFUSED` unless a person has approved it as it is. */
function approved<Shared extends Snippet & { readonly path: string; readonly state: ConsentState }>(
  one: Shared,
): Shared {
  if (one.state === 'approved') {
    return one;
  }
  const why = one.state === 'new' ? 'no one has approved it yet' : 'it has changed since it was approved';
  throw new BridgeError('CALL_REFUSED', `the shared snippet '${one.name}' does not run: ${why} (${one.path})`, {
    hint: `Ask the user to review it with: ${COMMAND} snippets approve ${one.name}`,
  });
}

/** The text of a program, without a byte order mark. Throws if it is not UTF-8, or has a null byte. */
export function decodeCode(bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not text in UTF-8');
  }
  if (text.includes('\0')) {
    throw new Error('it has a null byte');
  }
  return text;
}

/** The name of the snippet in a file. */
export function nameOf(fileName: string): string {
  return fileName.slice(0, fileName.length - extensionOf(fileName).length);
}

interface Candidate {
  readonly name: string;
  readonly fileName: string;
  readonly language: Language | undefined;
  readonly isAlone: boolean;
}

function whyUnusable({ name, fileName, language, isAlone }: Candidate, stats: Stats): string | undefined {
  if (!stats.isFile()) {
    return stats.isSymbolicLink() ? 'is a link, which is not followed' : 'is not a file';
  }
  if (stats.nlink > 1) {
    return 'has a second hard link';
  }
  if (!isSnippetName(name)) {
    return `has a name that no snippet can have: use ${NAME_RULE}`;
  }
  if (language === undefined) {
    const extension = extensionOf(fileName);
    return extension === '' ? 'has no extension' : `no enabled language has the extension '${extension}'`;
  }
  if (!isAlone) {
    return 'has the same name as another file, apart from case and extension';
  }
  return stats.size > MAX_SNIPPET_BYTES
    ? `has ${counted(stats.size, 'byte')}; the limit is ${counted(MAX_SNIPPET_BYTES, 'byte')}`
    : undefined;
}

export function isSnippetName(name: string): boolean {
  return NAME.test(name) && !DEVICE_NAME.test(name);
}

function checkName(name: string): void {
  if (!isSnippetName(name)) {
    throw new BridgeError('USAGE_INVALID', `a snippet cannot have the name '${name.slice(0, 80)}'`, {
      hint: `Use ${NAME_RULE}.`,
    });
  }
}

function checkCode(name: string, code: string): void {
  const bytes = Buffer.byteLength(code);
  if (bytes > MAX_SNIPPET_BYTES) {
    throw new BridgeError(
      'USAGE_INVALID',
      `the snippet '${name}' has ${counted(bytes, 'byte')}; the limit is ${counted(MAX_SNIPPET_BYTES, 'byte')}`,
      { hint: 'Keep data out of it: programs can be given files.' },
    );
  }
}

function unusable(fileName: string, problem: string): BridgeError {
  return new BridgeError('CALL_REFUSED', `the snippet '${fileName}' cannot be used: ${problem}`, {
    hint: `Ask the user to fix it. All snippets and their problems are listed by: ${COMMAND} snippets list`,
  });
}

function writeFailed(folder: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the snippets in ${folder} could not be changed: ${messageOf(cause)}`, {
    hint: 'Free disk space, make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
