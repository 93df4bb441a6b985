/**
 * Snippets that are shared, for example through git: files beside the functions in the folders of `MCP_BRIDGE_TOOLBOX`. They are only
 * read. A file that is new or has changed runs only once a person has approved it as it is.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import { MAX_SNIPPET_BYTES, MAX_SNIPPETS } from '../../core/base/limits.ts';
import { type ConsentState, FileConsents, hashText } from '../../core/state/file-consents.ts';
import { readBounded } from '../../core/state/state-files.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { Language, Languages } from './languages-file.ts';
import { decodeCode, isSnippetName, nameOf } from './snippets.ts';

export interface SharedSnippet {
  readonly name: string;
  readonly language: Language;
  readonly fileName: string;
  readonly code: string;
  readonly sizeBytes: number;
  readonly modified: Date;
  /** Absolute path of the file. */
  readonly path: string;
  readonly sha256: string;
  readonly state: ConsentState;
}

export interface SharedSnippetsOptions {
  readonly folders: readonly string[];
  readonly stateDir: string;
  readonly languages: () => Promise<Languages>;
  /** Gets each problem, as a sentence. */
  readonly report: (problem: string) => void;
}

/** Those of `MCP_BRIDGE_TOOLBOX`. */
export function sharedSnippets(
  { stateDir, toolbox = [] }: Pick<Settings, 'stateDir' | 'toolbox'>,
  languages: () => Promise<Languages>,
  report: (problem: string) => void,
): SharedSnippets {
  return new SharedSnippets({ folders: toolbox, stateDir, languages, report });
}

/** Files with this extension are functions. */
const OF_FUNCTIONS = '.py';

export class SharedSnippets {
  readonly #options: SharedSnippetsOptions;
  readonly #consents: FileConsents;

  constructor(options: SharedSnippetsOptions) {
    this.#options = options;
    this.#consents = new FileConsents(options.stateDir, options.report);
  }

  /** The snippets of all folders; of those with the same name, that of the first folder. Rejects as `languages` does. */
  async list(): Promise<SharedSnippet[]> {
    const { folders, report } = this.#options;
    if (folders.length === 0) {
      return [];
    }
    const languages = await this.#options.languages();
    const stateOf = await this.#consents.read();
    const found = new Map<string, SharedSnippet>();
    for (const snippet of (await Promise.all(folders.map((folder) => this.#listFolder(folder, languages)))).flat()) {
      const first = found.get(snippet.name);
      if (first === undefined) {
        found.set(snippet.name, { ...snippet, state: stateOf(snippet) });
      } else {
        report(`${snippet.path} was skipped: ${first.path} has the same name.`);
      }
    }
    return [...found.values()];
  }

  /** Notes that a person allows this code. Rejects with `STATE_WRITE_FAILED`. */
  async approve(snippet: SharedSnippet): Promise<void> {
    await this.#consents.give(snippet);
  }

  async #listFolder(folder: string, languages: Languages): Promise<Omit<SharedSnippet, 'state'>[]> {
    const { report } = this.#options;
    const files = await readdir(folder).catch((error: unknown): string[] => {
      report(`The toolbox ${folder} was skipped: ${messageOf(error)}`);
      return [];
    });
    const snippets: Omit<SharedSnippet, 'state'>[] = [];
    for (const fileName of files.toSorted().slice(0, MAX_SNIPPETS)) {
      const language = fileName.endsWith(OF_FUNCTIONS) ? undefined : languages.byFileName(fileName);
      // Other files, such as a README, are no snippets.
      if (language !== undefined && isSnippetName(nameOf(fileName))) {
        const path = join(folder, fileName);
        const snippet = await readShared(path, fileName, language).catch((error: unknown) => {
          report(`${path} was skipped: ${messageOf(error)}`);
        });
        snippets.push(...(snippet === undefined ? [] : [snippet]));
      }
    }
    return snippets;
  }
}

async function readShared(path: string, fileName: string, language: Language): Promise<Omit<SharedSnippet, 'state'>> {
  const stats = await lstat(path);
  if (!stats.isFile()) {
    throw new Error('it is not a file, and links are not followed');
  }
  const code = decodeCode(await readBounded(path, MAX_SNIPPET_BYTES));
  const { mtime: modified, size: sizeBytes } = stats;
  return { name: nameOf(fileName), language, fileName, code, sizeBytes, modified, path, sha256: hashText(code) };
}
