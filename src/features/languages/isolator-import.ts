/**
 * Takes over the configuration of the multi-language isolator: languages and limits into `languages.json`, prompts into snippets.
 * Each part is checked as if a person had written it here. Nothing that is there is replaced unless `isForced`.
 */
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { parseJson } from '../../core/base/json-text.ts';
import { MAX_LANGUAGES_FILE_BYTES, MAX_SNIPPET_BYTES, MAX_SNIPPETS } from '../../core/base/limits.ts';
import { counted } from '../../core/base/units.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';
import { DEFAULT_PROMPTS_FOLDER, type ImportedPart, parseIsolatorConfig } from './isolator-config.ts';
import {
  extensionOf,
  type Languages,
  type LanguagesDocument,
  languageEntriesOf,
  parseLanguages,
  readLanguagesDocument,
} from './languages-file.ts';
import { decodeCode, nameOf, Snippets } from './snippets.ts';

export interface ImportRequest {
  /** Path of `isolator_config.json`. */
  readonly file: string;
  readonly stateDir: string;
  readonly isDryRun: boolean;
  readonly isForced: boolean;
}

/** Rejects with `USAGE_INVALID` if the file cannot be understood, `CONFIG_INVALID` or `STATE_WRITE_FAILED`. */
export async function importIsolatorConfig(request: ImportRequest): Promise<ImportedPart[]> {
  const config = await readConfig(request.file);
  const parts = [...config.parts];
  const document = await mergeLanguages(config.languages, request, parts);
  const languages = await parseLanguages(document);
  const isChanged = parts.some(({ outcome }) => outcome === 'imported');
  if (isChanged && !request.isDryRun) {
    await writeDocument(document, request.stateDir);
  }
  const folder = resolve(dirname(request.file), config.promptsFolder ?? DEFAULT_PROMPTS_FOLDER);
  parts.push(...(await importPrompts(folder, config.promptsFolder !== undefined, languages, request)));
  return parts;
}

async function readConfig(path: string) {
  try {
    const stats = await stat(path);
    if (!stats.isFile()) {
      throw new Error('it is not a file');
    }
    if (stats.size > MAX_LANGUAGES_FILE_BYTES) {
      throw new Error(
        `it has ${counted(stats.size, 'byte')}; the limit is ${counted(MAX_LANGUAGES_FILE_BYTES, 'byte')}`,
      );
    }
    const parsed = parseJson(await readFile(path, 'utf8'));
    if ('fault' in parsed) {
      throw new Error(`it ${parsed.fault}`);
    }
    return parseIsolatorConfig(parsed.value);
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `cannot import '${path}': ${messageOf(cause)}`, {
      hint: 'Name the isolator_config.json of the other system.',
      cause,
    });
  }
}

/** The document with every language that is valid and may be written. */
async function mergeLanguages(
  languages: ReadonlyMap<string, unknown>,
  { isForced, stateDir }: ImportRequest,
  parts: ImportedPart[],
): Promise<LanguagesDocument> {
  let document = await readLanguagesDocument(stateDir);
  // An invalid file is not added to.
  await parseLanguages(document);
  for (const [name, entry] of languages) {
    const part = `languages.${name}`;
    const entries = languageEntriesOf(document);
    const present = Object.hasOwn(entries, name) ? entries[name] : undefined;
    if (isDeepStrictEqual(entry, present) || (present === undefined && isDeepStrictEqual(entry, {}))) {
      parts.push({ part, outcome: 'unchanged', detail: 'is already so' });
    } else if (present !== undefined && !isForced) {
      parts.push({ part, outcome: 'kept', detail: 'languages.json has another entry; --force replaces it' });
    } else {
      const next = { ...document, value: { languages: { ...entries, [name]: entry } } };
      try {
        await parseLanguages(next);
        document = next;
        parts.push({ part, outcome: 'imported', detail: JSON.stringify(entry) });
      } catch (error) {
        const why = messageOf(error).replace(`${document.file}: `, '');
        const detail = why.startsWith(part) ? why.slice(part.length).replace(/^[. ]/, '') : why;
        parts.push({ part, outcome: 'invalid', detail });
      }
    }
  }
  return document;
}

async function writeDocument({ file, value }: LanguagesDocument, stateDir: string): Promise<void> {
  try {
    await ensureDirectory(stateDir);
    // The file may be a link to where the user keeps it.
    const target = await realpath(file).catch(() => file);
    await writeAtomically(target, [`${JSON.stringify(value, undefined, 2)}\n`]);
  } catch (cause) {
    throw new BridgeError('STATE_WRITE_FAILED', `could not write ${file}: ${messageOf(cause)}`, {
      hint: 'Free disk space, make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
      cause,
    });
  }
}

async function importPrompts(
  folder: string,
  isNamed: boolean,
  languages: Languages,
  { isDryRun, isForced, stateDir }: ImportRequest,
): Promise<ImportedPart[]> {
  let files: string[];
  try {
    files = await filesIn(folder);
  } catch (error) {
    return isNamed
      ? [{ part: 'prompts', outcome: 'invalid', detail: `cannot read ${folder}: ${messageOf(error)}` }]
      : [];
  }
  const snippets = new Snippets(stateDir, async () => languages);
  const parts: ImportedPart[] = [];
  /** By the name in lower case: a run that changes nothing must find the same clashes. */
  const taken = new Map<string, string>();
  for (const file of files) {
    const part = `prompts/${file}`;
    const earlier = taken.get(keyOf(file));
    try {
      if (earlier !== undefined) {
        throw new Error(`has the same name as ${earlier}; rename one of them`);
      }
      const outcome = await importPrompt(join(folder, file), { snippets, languages, isDryRun, isForced });
      parts.push({ part, ...outcome });
      taken.set(keyOf(file), file);
    } catch (error) {
      parts.push({ part, outcome: 'invalid', detail: messageOf(error) });
    }
  }
  return parts;
}

function keyOf(file: string): string {
  return nameOf(baseOf(file)).toLowerCase();
}

function baseOf(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1);
}

interface PromptTarget {
  readonly snippets: Snippets;
  readonly languages: Languages;
  readonly isDryRun: boolean;
  readonly isForced: boolean;
}

async function importPrompt(
  path: string,
  { isDryRun, isForced, languages, snippets }: PromptTarget,
): Promise<Pick<ImportedPart, 'outcome' | 'detail'>> {
  const fileName = baseOf(path.replaceAll('\\', '/'));
  const language = languages.byFileName(fileName);
  if (language === undefined) {
    return { outcome: 'left out', detail: 'no language has its extension' };
  }
  const code = decodeCode(await readBounded(path, MAX_SNIPPET_BYTES));
  const extension = extensionOf(fileName).toLowerCase();
  const snippet = { name: nameOf(fileName), language, extension, code };
  const { change, replaced } = await snippets.plan(snippet);
  if (change === 'none') {
    return { outcome: 'unchanged', detail: 'is already stored' };
  }
  if (change === 'replace' && !isForced) {
    return { outcome: 'kept', detail: `the snippet ${replaced.join(', ')} is another one; --force replaces it` };
  }
  if (!isDryRun) {
    await snippets.add(snippet, { mayReplace: isForced });
  }
  return { outcome: 'imported', detail: `snippet '${snippet.name}' in ${language.name}` };
}

/** Files in the folder and in its folders, sorted, as relative paths with `/`. Links and hidden files are left out. */
async function filesIn(folder: string): Promise<string[]> {
  const top = await visibleIn(folder);
  const folders: string[] = [];
  for (const name of top) {
    if ((await lstat(join(folder, name))).isDirectory()) {
      folders.push(name);
    }
  }
  const files = top.filter((name) => !folders.includes(name));
  for (const inner of folders) {
    files.push(...(await visibleIn(join(folder, inner))).map((name) => `${inner}/${name}`));
  }
  if (files.length > MAX_SNIPPETS) {
    throw new Error(`it has ${counted(files.length, 'file')}; the limit is ${MAX_SNIPPETS.toLocaleString('en-US')}`);
  }
  return files;
}

async function visibleIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
}
