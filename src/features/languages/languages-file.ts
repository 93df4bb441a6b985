/**
 * The table of languages in which programs can be written: built-in defaults, changed by `STATE_DIR/languages.json`. The values
 * become parts of command lines of engines and of a shell in the sandbox, so each is checked against a pattern.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { explainZodIssues, renderIssue, renderPath } from '../../core/base/config-issue.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { parseJson, repeatedKey } from '../../core/base/json-text.ts';
import { MAX_LANGUAGES, MAX_LANGUAGES_FILE_BYTES } from '../../core/base/limits.ts';
import { COMMAND } from '../../core/base/package.ts';
import { didYouMean } from '../../core/base/suggest.ts';
import { counted, parseDurationMs, parseSizeBytes } from '../../core/base/units.ts';
import { whyNotUtf8 } from '../../core/base/utf8-line.ts';
import type { ProgramSandbox } from '../../core/session/engine.ts';
import { MAX_PIDS, MAX_TIMEOUT_MS, MIN_MEMORY_BYTES, MIN_PIDS } from '../../edges/settings/settings.ts';

export interface Language {
  /** In lower case. */
  readonly name: string;
  readonly aliases: readonly string[];
  /** Undefined for that of sessions, `MCP_BRIDGE_IMAGE`. */
  readonly image: string | undefined;
  /** How a program starts. `node`: by our runner for Node, which can call servers. `shell`: sh runs `command` in /workspace. */
  readonly runner: 'node' | 'shell';
  /** Program and arguments, with `{file}` for the entry file; the arguments of the program follow. */
  readonly command: readonly string[];
  /** Of the entry file, unless the request names one. */
  readonly fileName: string;
  /** In lower case, each with its dot; at least one. */
  readonly extensions: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether it needs a tmpfs whose files can be executed: compiled programs. */
  readonly canExecuteFiles: boolean;
  /** Undefined for `MCP_BRIDGE_TIMEOUT`. */
  readonly timeoutMs: number | undefined;
  /** These are undefined for the limits of sessions. */
  readonly memoryBytes: number | undefined;
  readonly pids: number | undefined;
  readonly workspaceBytes: number | undefined;
}

export interface Languages {
  /** Those that are not disabled, built-in ones first. */
  readonly all: readonly Language[];
  /** In any case. */
  find(nameOrAlias: string): Language | undefined;
  /** By the extension, in any case. */
  byFileName(fileName: string): Language | undefined;
}

/** The content of `languages.json`, not validated. */
export interface LanguagesDocument {
  /** Absolute path. */
  readonly file: string;
  /** Undefined if there is no file. */
  readonly value: unknown;
}

const OF_SESSIONS = {
  image: undefined,
  env: {},
  canExecuteFiles: false,
  timeoutMs: undefined,
  memoryBytes: undefined,
  pids: undefined,
  workspaceBytes: undefined,
} as const;

const NODE_COMMAND = ['node', '{file}'];
const NODE_IMAGE = 'node:24-slim';

const PYTHON_COMMAND = ['python3', '{file}'];

const DEFAULTS: readonly Language[] = [
  {
    ...OF_SESSIONS,
    name: 'javascript',
    aliases: ['js', 'node'],
    image: NODE_IMAGE,
    runner: 'node',
    command: NODE_COMMAND,
    fileName: 'main.mjs',
    extensions: ['.js', '.mjs', '.cjs'],
  },
  {
    ...OF_SESSIONS,
    name: 'typescript',
    aliases: ['ts'],
    image: NODE_IMAGE,
    runner: 'node',
    command: NODE_COMMAND,
    fileName: 'main.ts',
    extensions: ['.ts', '.mts'],
  },
  {
    ...OF_SESSIONS,
    name: 'go',
    aliases: ['golang'],
    image: 'golang:1.26',
    runner: 'shell',
    command: ['go', 'run', '{file}'],
    fileName: 'main.go',
    extensions: ['.go'],
    // Go looks for modules, newer toolchains and its settings elsewhere, and there is no network and no home.
    env: {
      GOFLAGS: '-mod=mod',
      GOPROXY: 'off',
      GOTOOLCHAIN: 'local',
      GOENV: 'off',
      GOTELEMETRY: 'off',
      GOCACHE: '/tmp/go-cache',
      GOPATH: '/tmp/go',
      GOTMPDIR: '/tmp',
      CGO_ENABLED: '0',
    },
    canExecuteFiles: true,
    // The standard library is compiled in each new sandbox, which takes 10 s of two processors.
    timeoutMs: 120_000,
    memoryBytes: 1024 ** 3,
    workspaceBytes: 512 * 1024 ** 2,
  },
  {
    ...OF_SESSIONS,
    name: 'bash',
    aliases: ['sh', 'shell'],
    runner: 'shell',
    command: ['bash', '{file}'],
    fileName: 'main.sh',
    extensions: ['.sh', '.bash'],
  },
  {
    ...OF_SESSIONS,
    name: 'python',
    aliases: ['py', 'python3'],
    runner: 'shell',
    command: PYTHON_COMMAND,
    fileName: 'main.py',
    extensions: ['.py'],
  },
];

/** Which interpreter runs it on an engine that has interpreters of its own; undefined for none. */
export function interpreterOf({ command, name, runner }: Language): ProgramSandbox['interpreter'] {
  if (runner === 'node') {
    return 'javascript';
  }
  // With a command of the user's, it is another program.
  return name === 'python' && command.join(' ') === PYTHON_COMMAND.join(' ') ? 'python' : undefined;
}

const MAX_WORD_CHARS = 1_024;
const MAX_WORDS = 64;
const MIN_TIMEOUT_MS = 1_000;
const MIN_WORKSPACE_BYTES = 1024 ** 2;
/** Errors named in one message; people rarely fix more at once. */
const MAX_FAULTS = 3;
const FILE_PLACE = '{file}';

/** `c++` and `c#` are names, too. */
const NAME_RULE = "must begin with a lower-case letter, then up to 31 of a-z, 0-9, '+', '#', '_', '-'";
const name = z.string().regex(/^[a-z][a-z0-9+#_-]{0,31}$/, NAME_RULE);
const words = z
  .array(
    z
      .string('must be a list of strings')
      .min(1, 'must not be empty')
      .max(MAX_WORD_CHARS, `must have at most ${MAX_WORD_CHARS} characters`)
      .regex(/^\P{Cc}*$/u, 'must have no control characters'),
    'must be a list of strings, such as ["ruby", "{file}"]',
  )
  .min(1, 'must name a program')
  .max(MAX_WORDS, `must have at most ${MAX_WORDS} words`)
  .refine(([program = '']) => /^[A-Za-z0-9_/][A-Za-z0-9_./+-]*$/.test(program), {
    path: [0],
    message: 'must be the name or path of a program, such as "ruby"',
  })
  .refine((all) => all.slice(1).some((word) => word.includes(FILE_PLACE)), 'must have "{file}" for the entry file');

const LanguageSchema = z.strictObject({
  image: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/, 'must be the name of an image, such as "ruby:3.4-slim"')
    .optional(),
  command: words.optional(),
  file: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, 'must be the name of a file without folders, such as "main.rb"')
    .optional(),
  extensions: listOf(
    z
      .string('must be a list of strings')
      .regex(/^\.[A-Za-z0-9][A-Za-z0-9_+-]{0,15}$/, 'must be an extension with its dot, such as ".rb"'),
  )
    .min(1, 'must have at least one extension')
    .optional(),
  aliases: listOf(name).optional(),
  env: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable: letters, digits and underscores'),
      z
        .string()
        .max(MAX_WORD_CHARS, `must have at most ${MAX_WORD_CHARS} characters`)
        .regex(/^\P{Cc}*$/u, 'must have no control characters'),
    )
    .optional(),
  timeout: unit(
    parseDurationMs,
    MIN_TIMEOUT_MS,
    MAX_TIMEOUT_MS,
    'must be a number of seconds or a duration such as "2m", from 1 s to 24 h',
  ),
  memory: unit(
    parseSizeBytes,
    MIN_MEMORY_BYTES,
    Number.MAX_SAFE_INTEGER,
    'must be a size such as "512m", at least 32m',
  ),
  pids: z
    .int('must be a whole number')
    .min(MIN_PIDS, `must be at least ${MIN_PIDS}`)
    .max(MAX_PIDS, `must be at most ${MAX_PIDS}`)
    .optional(),
  workspace: unit(
    parseSizeBytes,
    MIN_WORKSPACE_BYTES,
    Number.MAX_SAFE_INTEGER,
    'must be a size such as "128m", at least 1m',
  ),
  execute_files: z.boolean().optional(),
  runner: z.enum(['node', 'shell'], 'must be "node" or "shell"').optional(),
});

const DocumentSchema = z.strictObject({ languages: z.record(name, LanguageSchema.nullable()).optional() });

type Entry = z.output<typeof LanguageSchema>;

/** Keys of a language in the file. */
export const LANGUAGE_KEYS: readonly string[] = Object.keys(LanguageSchema.shape);

/** The built-in languages. */
export const DEFAULT_LANGUAGES: Languages = createLanguages(DEFAULTS);

/** Defaults plus `STATE_DIR/languages.json`, which may change, add or disable (null) a language. Rejects with `CONFIG_INVALID`. */
export async function readLanguages(stateDir: string): Promise<Languages> {
  return parseLanguages(await readLanguagesDocument(stateDir));
}

/** Rejects with `CONFIG_INVALID` if the file cannot be read or is not JSON. */
export async function readLanguagesDocument(stateDir: string): Promise<LanguagesDocument> {
  const file = join(stateDir, 'languages.json');
  const text = await readText(file);
  if (text === undefined) {
    return { file, value: undefined };
  }
  const parsed = parseJson(text);
  if ('fault' in parsed) {
    throw invalid(file, [parsed.fault]);
  }
  const repeated = repeatedKey(text.replace(/^\uFEFF/, ''), parsed.value);
  if (repeated !== undefined) {
    throw invalid(file, [`has the key ${JSON.stringify(repeated)} more than once in one object`]);
  }
  return { file, value: parsed.value };
}

/** Defaults plus the document. Rejects with `CONFIG_INVALID`, which names file and place. */
export async function parseLanguages({ file, value }: LanguagesDocument): Promise<Languages> {
  if (value === undefined) {
    return DEFAULT_LANGUAGES;
  }
  // The schema passes over this key in silence.
  if (Object.hasOwn(languageEntriesOf({ file, value }), '__proto__')) {
    throw invalid(file, [`languages.__proto__ ${NAME_RULE}`]);
  }
  const parsed = DocumentSchema.safeParse(value);
  if (!parsed.success) {
    throw invalid(file, await faultsOf(parsed.error, value));
  }
  const entries = parsed.data.languages ?? {};
  if (Object.keys(entries).length > MAX_LANGUAGES) {
    throw invalid(file, [
      `languages has ${Object.keys(entries).length} entries; the limit is ${counted(MAX_LANGUAGES, 'language')}`,
    ]);
  }
  const table = new Map(DEFAULTS.map((language) => [language.name, language]));
  for (const [key, entry] of Object.entries(entries)) {
    const place = renderPath(['languages', key]);
    if (entry !== null) {
      table.set(
        key,
        merge(key, entry, table.get(key), (problem) => invalid(file, [`${place}${problem}`])),
      );
    } else if (!table.delete(key)) {
      throw invalid(file, [
        `${place} cannot be disabled: there is no language '${key}'.${await didYouMean(key, [...table.keys()])}`,
      ]);
    }
  }
  const all = [...table.values()];
  const clash = findClash(all);
  if (clash !== undefined) {
    throw invalid(file, [clash]);
  }
  return createLanguages(all);
}

function createLanguages(all: readonly Language[]): Languages {
  const byName = new Map(all.flatMap((one) => [one.name, ...one.aliases].map((key) => [key, one] as const)));
  const byExtension = new Map(all.flatMap((one) => one.extensions.map((key) => [key, one] as const)));
  return {
    all,
    find: (nameOrAlias) => byName.get(nameOrAlias.toLowerCase()),
    byFileName: (fileName) => byExtension.get(extensionOf(fileName).toLowerCase()),
  };
}

/** The last extension of a file name, with its dot; empty if it has none. */
export function extensionOf(fileName: string): string {
  return /[^/\\](\.[^./\\]+)$/.exec(fileName)?.[1] ?? '';
}

/** `fail` gets a predicate or the rest of a path. */
function merge(
  key: string,
  entry: Entry,
  base: Language | undefined,
  fail: (problem: string) => BridgeError,
): Language {
  const extensions = entry.extensions?.map((one) => one.toLowerCase()) ?? base?.extensions;
  const command = entry.command ?? base?.command;
  if (command === undefined || extensions === undefined) {
    throw fail(
      `.${command === undefined ? 'command' : 'extensions'} is missing; a language that is not built in needs it`,
    );
  }
  const runsNode = /(?:^|\/)node$/.test(command[0] ?? '') && command.length === 2 && command[1] === FILE_PLACE;
  if (entry.runner === 'node' && !runsNode) {
    throw fail('.runner can be "node" only if command is ["node", "{file}"]');
  }
  return {
    name: key,
    aliases: entry.aliases ?? base?.aliases ?? [],
    image: entry.image ?? base?.image,
    runner: entry.runner ?? (base?.runner === 'node' && runsNode ? 'node' : 'shell'),
    command,
    fileName: entry.file ?? (entry.extensions === undefined ? base?.fileName : undefined) ?? `main${extensions[0]}`,
    extensions,
    env: { ...base?.env, ...entry.env },
    canExecuteFiles: entry.execute_files ?? base?.canExecuteFiles ?? false,
    timeoutMs: entry.timeout ?? base?.timeoutMs,
    memoryBytes: entry.memory ?? base?.memoryBytes,
    pids: entry.pids ?? base?.pids,
    workspaceBytes: entry.workspace ?? base?.workspaceBytes,
  };
}

/** A name or extension of two languages. */
function findClash(all: readonly Language[]): string | undefined {
  const owners = new Map<string, string>();
  for (const language of all) {
    for (const key of new Set([language.name, ...language.aliases, ...language.extensions])) {
      const owner = owners.get(key);
      if (owner !== undefined) {
        const what = key.startsWith('.') ? 'extension' : 'name or alias';
        return `the ${what} '${key}' belongs to both '${owner}' and '${language.name}'`;
      }
      owners.set(key, language.name);
    }
  }
  return undefined;
}

async function faultsOf({ issues }: z.ZodError, value: unknown): Promise<string[]> {
  if (!isObject(value)) {
    return ['must be an object with the key "languages"'];
  }
  const faults: string[] = [];
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      const known = issue.path.length === 0 ? Object.keys(DocumentSchema.shape) : LANGUAGE_KEYS;
      for (const key of issue.keys) {
        faults.push(`${renderPath([...issue.path, key])} is not a known key.${await didYouMean(key, known)}`);
      }
    } else {
      faults.push(...explainZodIssues({ issues: [issue] } as z.ZodError, '', []).map(renderIssue));
    }
  }
  return faults;
}

function invalid(file: string, faults: readonly string[]): BridgeError {
  const more = faults.length > MAX_FAULTS ? [`and ${faults.length - MAX_FAULTS} more`] : [];
  const text = [...faults.slice(0, MAX_FAULTS), ...more].join('; ');
  return new BridgeError('CONFIG_INVALID', `${file}: ${text}`, {
    hint: `Fix the file. To see its keys, run: ${COMMAND} help snippets`,
    data: { file },
  });
}

/** Follows links, because people keep such files elsewhere. Undefined if there is no file. */
async function readText(path: string): Promise<string | undefined> {
  try {
    // Opening a pipe would otherwise wait for its writer.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      const stats = await file.stat();
      if (!stats.isFile()) {
        throw new Error('it is not a file');
      }
      if (stats.size > MAX_LANGUAGES_FILE_BYTES) {
        throw new Error(
          `it has ${counted(stats.size, 'byte')}; the limit is ${counted(MAX_LANGUAGES_FILE_BYTES, 'byte')}`,
        );
      }
      const bytes = await file.readFile();
      const fault = whyNotUtf8(bytes);
      if (fault !== undefined) {
        throw new Error(`it ${fault}`);
      }
      return bytes.toString('utf8');
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw invalid(path, [`cannot be read: ${messageOf(error)}`]);
  }
}

function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item, 'must be a list of strings').max(MAX_WORDS, `must have at most ${MAX_WORDS} items`);
}

/** A number, or a text with a unit. */
function unit(parse: (text: string) => number, min: number, max: number, message: string) {
  return z
    .union([z.string(), z.number()], message)
    .transform((given) => parse(String(given)))
    .refine((value) => value >= min && value <= max, message)
    .optional();
}

/** The languages of a document as they were written. */
export function languageEntriesOf({ value }: LanguagesDocument): JsonObject {
  const entries = isObject(value) ? value['languages'] : undefined;
  return isObject(entries) ? entries : {};
}
