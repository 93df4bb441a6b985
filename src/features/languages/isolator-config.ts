/**
 * Understands `isolator_config.json`, the configuration of a system that ran programs of several languages in one container each:
 * languages with images and commands, limits, and a folder of prompts, which are its snippets. Written from its documentation;
 * people have changed their files by hand, so names of keys are compared without case, hyphens and underscores, and several
 * names for the same are understood. Does no I/O.
 */
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { splitWords } from '../../core/base/shell-words.ts';
import { parseDurationMs, parseSizeBytes } from '../../core/base/units.ts';
import { DEFAULT_LANGUAGES, type Language } from './languages-file.ts';

/** What happened to one part of the file. */
export interface ImportedPart {
  /** Such as `languages.go`, `network` or `prompts/hello.py`. */
  readonly part: string;
  readonly outcome:
    | 'imported'
    /** There already. */
    | 'unchanged'
    /** Another one is there, and `--force` was not given. */
    | 'kept'
    /** Has no counterpart, or is so anyway. */
    | 'left out'
    | 'invalid';
  readonly detail: string;
}

export interface IsolatorConfig {
  /** Entries of `languages.json`, by our names of the languages. Not validated. */
  readonly languages: ReadonlyMap<string, JsonObject>;
  /** Folder of the prompts, as written. Undefined if the file does not name one. */
  readonly promptsFolder: string | undefined;
  /** What is left out or invalid. */
  readonly parts: readonly ImportedPart[];
}

/** The folder of prompts if the file names none. */
export const DEFAULT_PROMPTS_FOLDER = 'prompts';

const KEYS = {
  languages: ['languages', 'language', 'runtimes', 'languageimages', 'images', 'languageconfigs'],
  limits: ['defaults', 'default', 'limits', 'resourcelimits', 'resources', 'security', 'container', 'containers'],
  prompts: ['promptsfolder', 'promptsdir', 'promptsdirectory', 'promptspath', 'prompts', 'snippetsdir', 'snippets'],
  image: ['image', 'dockerimage', 'baseimage', 'containerimage'],
  command: ['command', 'cmd', 'runcommand', 'run', 'execute'],
  entrypoint: ['entrypoint'],
  extensions: ['extensions', 'extension', 'fileextensions', 'fileextension', 'ext'],
  file: ['filename', 'entrypointfilename', 'entryfilename', 'mainfile', 'mainfilename', 'entrypointfile', 'file'],
  aliases: ['aliases', 'alias'],
  name: ['name', 'language', 'id'],
  seconds: ['timeout', 'timeoutseconds', 'timeoutsecs', 'timeoutsec', 'timeouts', 'maxtimeout'],
  milliseconds: ['timeoutms', 'timeoutmilliseconds', 'timeoutmillis'],
  memory: ['memory', 'memorylimit', 'maxmemory', 'mem', 'memlimit', 'memorybytes'],
  memoryMb: ['memorymb', 'memorylimitmb', 'maxmemorymb', 'memorymib'],
  pids: ['pids', 'pidslimit', 'pidlimit', 'maxpids', 'maxprocesses'],
  env: ['env', 'environment', 'envvars', 'environmentvariables'],
} as const satisfies Record<string, readonly string[]>;

/** Keys without a counterpart, and why. */
const LEFT_OUT: readonly [RegExp, string][] = [
  [/^cpus?(?:limit|count)?$|^maxcpus?$/, 'programs have the CPUs of sessions: set MCP_BRIDGE_CPUS'],
  [/network/, 'programs never have a network'],
  [/^(?:container)?work(?:ing)?dir(?:ectory)?$|^workspace$/, 'programs always run in /workspace'],
  [/^isolatorpath$|^isolatorbinary$/, 'no other program is needed'],
  [/^promptsubdirs?$/, 'every folder of prompts is searched'],
  [/^(?:readonly|capdrop|dropcap|user$|seccomp|securityopt|nonewprivileges|tmpfs)/, 'sandboxes are always locked down'],
];

type KeyKind = keyof typeof KEYS;

/** `default_timeout-Sec` is the same as `timeoutsec`. */
function plain(key: string): string {
  const letters = key.toLowerCase().replaceAll(/[^a-z\d]/g, '');
  return /^default(?!s?$)/.test(letters) ? letters.slice('default'.length) : letters;
}

function isKind(key: string, kind: KeyKind): boolean {
  return (KEYS[kind] as readonly string[]).includes(plain(key));
}

/** Throws an `Error` that says why nothing in the value can be understood. */
export function parseIsolatorConfig(value: unknown): IsolatorConfig {
  if (!isObject(value)) {
    throw new Error('it is not a JSON object');
  }
  const parts: ImportedPart[] = [];
  const note = (part: string, outcome: ImportedPart['outcome'], detail: string): void => {
    parts.push({ part, outcome, detail });
  };
  const common: JsonObject = {};
  const given = new Map<string, JsonObject>();
  let promptsFolder: string | undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isKind(key, 'languages')) {
      readGiven(key, member, given, note);
    } else if (isKind(key, 'prompts')) {
      if (typeof member === 'string' && member.trim() !== '') {
        promptsFolder = member;
      } else {
        note(key, 'invalid', 'is not the path of a folder');
      }
    } else {
      readLimit({ part: key, key, value: member, note }, common);
    }
  }
  if (given.size === 0 && promptsFolder === undefined && Object.keys(common).length === 0) {
    throw new Error('it has neither languages nor limits nor a folder of prompts');
  }
  // Limits for all languages also apply to those that the file does not describe.
  const described = [...given.keys()].map(ourName);
  const implied =
    Object.keys(common).length === 0 ? [] : ['python', 'go', 'javascript'].filter((one) => !described.includes(one));
  for (const language of implied) {
    given.set(language, {});
  }
  const languages = new Map<string, JsonObject>();
  for (const [key, entry] of given) {
    const language = ourName(key);
    const own = readLanguage(`languages.${key}`, entry, DEFAULT_LANGUAGES.find(language), note);
    const env = isObject(common['env'])
      ? { env: { ...common['env'], ...(isObject(own['env']) ? own['env'] : {}) } }
      : {};
    if (languages.has(language)) {
      note(`languages.${key}`, 'invalid', `is '${language}' once more`);
    } else {
      languages.set(language, { ...common, ...own, ...env });
    }
  }
  return { languages, promptsFolder, parts };
}

type Note = (part: string, outcome: ImportedPart['outcome'], detail: string) => void;

/** An object or a list of languages; the image alone may be given instead of an object. */
function readGiven(key: string, value: unknown, given: Map<string, JsonObject>, note: Note): void {
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((one, index) => [nameIn(one) ?? `${index}`, one])
    : isObject(value)
      ? Object.entries(value)
      : [];
  if (entries.length === 0) {
    note(key, 'invalid', 'has no languages');
  }
  for (const [language, entry] of entries) {
    if (typeof entry === 'string') {
      given.set(language, { ...given.get(language), image: entry });
    } else if (isObject(entry) && !/^\d+$/.test(language)) {
      given.set(language, { ...given.get(language), ...entry });
    } else {
      note(`${key}.${language}`, 'invalid', isObject(entry) ? 'has no name' : 'is neither an object nor an image');
    }
  }
}

function nameIn(entry: unknown): string | undefined {
  const [, found] = (isObject(entry) ? Object.entries(entry) : []).find(([key]) => isKind(key, 'name')) ?? [];
  return typeof found === 'string' ? found : undefined;
}

function ourName(name: string): string {
  return DEFAULT_LANGUAGES.find(name)?.name ?? name.toLowerCase();
}

/** The entry of `languages.json`, without what is the default anyway. */
function readLanguage(place: string, given: JsonObject, base: Language | undefined, note: Note): JsonObject {
  const entry: JsonObject = {};
  let command: string[] | undefined;
  for (const [key, value] of Object.entries(given)) {
    const part = `${place}.${key}`;
    if (isKind(key, 'image')) {
      entry['image'] = value;
    } else if (isKind(key, 'entrypoint') && typeof value === 'string' && /^[\w-]+\.\w+$/.test(value)) {
      entry['file'] = value;
    } else if (isKind(key, 'command') || isKind(key, 'entrypoint')) {
      command = wordsOf(value);
      if (command === undefined) {
        note(part, 'invalid', 'is not a command');
      }
    } else if (isKind(key, 'extensions')) {
      entry['extensions'] = textsOf(value)?.map((one) => (one.startsWith('.') ? one : `.${one}`)) ?? value;
    } else if (isKind(key, 'file')) {
      entry['file'] = value;
    } else if (isKind(key, 'aliases')) {
      entry['aliases'] = textsOf(value) ?? value;
    } else if (!isKind(key, 'name')) {
      readLimit({ part, key, value, note }, entry);
    }
  }
  if (command !== undefined) {
    entry['command'] = withFilePlace(command, entry['file'] ?? base?.fileName);
  }
  return Object.fromEntries(Object.entries(entry).filter(([key, value]) => !isDefault(key, value, base)));
}

function isDefault(key: string, value: unknown, base: Language | undefined): boolean {
  if (base === undefined) {
    return false;
  }
  const isIncluded = (all: readonly string[]): boolean =>
    Array.isArray(value) && value.every((one) => typeof one === 'string' && all.includes(one.toLowerCase()));
  switch (key) {
    case 'image':
      return value === base.image;
    case 'file':
      return value === base.fileName;
    case 'command':
      return JSON.stringify(value) === JSON.stringify(base.command);
    case 'extensions':
      return isIncluded(base.extensions);
    case 'aliases':
      return isIncluded([base.name, ...base.aliases]);
    default:
      return false;
  }
}

/** A member of the file, and where to note what becomes of it. */
interface Member {
  readonly part: string;
  readonly key: string;
  readonly value: unknown;
  readonly note: Note;
}

/** One limit, or an object of limits; adds them to the entry. */
function readLimit(member: Member, entry: JsonObject): void {
  const { key, note, part, value } = member;
  if (isKind(key, 'limits') && isObject(value)) {
    for (const [inner, innerValue] of Object.entries(value)) {
      readLimit({ part: `${part}.${inner}`, key: inner, value: innerValue, note }, entry);
    }
    return;
  }
  const limit = LIMITS.find(([kind]) => isKind(key, kind));
  if (limit === undefined) {
    const [, why] = LEFT_OUT.find(([pattern]) => pattern.test(plain(key))) ?? [];
    note(part, 'left out', why ?? 'is not known');
    return;
  }
  const [, name, read] = limit;
  const found = read(value);
  if (found === undefined) {
    note(part, 'invalid', `is not a value for ${name}`);
  } else {
    entry[name] = found;
  }
}

/** The kind of key, the name of the limit here, and its value here; undefined if the value is invalid. */
const LIMITS: readonly [KeyKind, string, (value: unknown) => unknown][] = [
  ['seconds', 'timeout', (value) => secondsOf(value, 1_000)],
  ['milliseconds', 'timeout', (value) => secondsOf(value, 1)],
  ['memoryMb', 'memory', (value) => (Number(value) > 0 ? `${Number(value)}m` : undefined)],
  ['memory', 'memory', memoryOf],
  ['pids', 'pids', (value) => (Number(value) > 0 ? Number(value) : undefined)],
  ['env', 'env', envOf],
];

/** A text with a unit, or a number of units. */
function secondsOf(value: unknown, msPerUnit: number): number | undefined {
  const ms = typeof value === 'string' && /[a-z]$/i.test(value) ? parseDurationMs(value) : Number(value) * msPerUnit;
  return ms > 0 ? Math.ceil(ms / 1_000) : undefined;
}

/** No one gave a program less than a megabyte, so a smaller number is one of megabytes. */
function memoryOf(value: unknown): string | number | undefined {
  if (typeof value === 'number' && value > 0) {
    return value < 1024 ** 2 ? `${value}m` : value;
  }
  return typeof value === 'string' && parseSizeBytes(value) > 0 ? value : undefined;
}

function envOf(value: unknown): JsonObject | undefined {
  if (Array.isArray(value)) {
    const pairs = value.map((one) => /^([^=]+)=(.*)$/s.exec(String(one)));
    return pairs.some((pair) => pair === null)
      ? undefined
      : Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
  }
  const isFlat = isObject(value) && Object.values(value).every((one) => typeof one !== 'object');
  return isFlat ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, String(one)])) : undefined;
}

function wordsOf(value: unknown): string[] | undefined {
  return typeof value === 'string' ? splitWords(value) : textsOf(value);
}

/** A text or a list of texts. */
function textsOf(value: unknown): string[] | undefined {
  const list = Array.isArray(value) ? value : [value];
  return list.every((one) => typeof one === 'string') ? list : undefined;
}

/** The command with `{file}`, which the other system appended unless the command names the file itself. */
function withFilePlace(command: readonly string[], fileName: unknown): string[] {
  const names = ['{file}', '{filename}', '{entrypoint}', '{entrypoint_filename}', '{{file}}', '$FILE', '${FILE}'];
  const own = typeof fileName === 'string' ? [`/workspace/${fileName}`, `./${fileName}`, fileName] : [];
  const placed = command.map((word, index) => {
    const found = [...names.toReversed(), ...own].find((one) => index > 0 && word.includes(one));
    return found === undefined ? (index > 0 && word === '.' ? '{file}' : word) : word.replace(found, '{file}');
  });
  return placed.some((word) => word.includes('{file}')) ? placed : [...placed, '{file}'];
}
