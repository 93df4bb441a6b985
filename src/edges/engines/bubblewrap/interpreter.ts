/**
 * Chooses the `python3` of this machine for a bubblewrap sandbox. The system's Python is preferred: it is in /usr, which every
 * sandbox sees, and the name that /usr/bin/python3 links to shows its version. Any other Python (pyenv, a virtual environment,
 * /opt) is run to find out, and its installation folder is mounted, but nothing above it.
 */
import { realpathSync } from 'node:fs';
import { posix } from 'node:path';

/** A Python for the sandbox. */
export interface Interpreter {
  /** Absolute path of the program, with links resolved. */
  readonly path: string;
  /** Folder to mount in the sandbox; undefined if it is in /usr. */
  readonly prefix?: string | undefined;
}

/** What a Python reports about itself; links in the paths are resolved. */
export interface InterpreterFacts {
  readonly path: string;
  readonly version: readonly [major: number, minor: number];
  /** Installation folder; for a virtual environment, that of its base. */
  readonly prefix: string;
}

/** Oldest minor version of Python 3 that the kernel runs on. */
const LEAST_MINOR = 10;
const SYSTEM_PYTHON = '/usr/bin/python3';

/** Prints `InterpreterFacts` as JSON. `_base_executable` is the Python from which a virtual environment was created. */
export const FACTS_PROGRAM = [
  'import json, os, sys',
  'path = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)',
  'print(json.dumps({"path": path, "version": sys.version_info[:2], "prefix": os.path.realpath(sys.base_prefix)}))',
].join('\n');

/** The system's Python, if its name shows that it is new enough. Starts no process. */
export function systemInterpreter(resolveLinks: (path: string) => string = realpathSync): Interpreter | undefined {
  try {
    const path = resolveLinks(SYSTEM_PYTHON);
    const minor = Number(/^\/usr\/bin\/python3\.(\d+)$/.exec(path)?.[1]);
    return minor >= LEAST_MINOR ? { path } : undefined;
  } catch {
    // There is none: the caller tries those on PATH.
    return undefined;
  }
}

/** The interpreter, or why it cannot be used. A folder that contains one of `homes` is never mounted. */
export function judgeInterpreter(facts: InterpreterFacts, homes: readonly string[]): Interpreter | string {
  const { path, prefix, version } = facts;
  const [major, minor] = version;
  if (major !== 3 || minor < LEAST_MINOR) {
    return `${path} is Python ${major}.${minor}`;
  }
  if (isWithin(path, '/usr') && isWithin(prefix, '/usr')) {
    return { path };
  }
  if (prefix.split('/').length < 3 || homes.some((home) => isWithin(home, prefix))) {
    return `${path} is installed in ${prefix}, which contains more than Python`;
  }
  return isWithin(path, prefix) ? { path, prefix } : `${path} is outside its installation folder ${prefix}`;
}

/** Parses the output of `FACTS_PROGRAM`; undefined if it is anything else. */
export function parseFacts(text: string): InterpreterFacts | undefined {
  try {
    const { path, version, prefix } = JSON.parse(text) as Partial<InterpreterFacts>;
    const isWhole = [path, prefix].every((folder) => typeof folder === 'string' && posix.isAbsolute(folder));
    return isWhole && Array.isArray(version) ? ({ path, version, prefix } as InterpreterFacts) : undefined;
  } catch {
    // A wrapper script that prints other text cannot be used.
    return undefined;
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
