/**
 * Which `python3` of this machine a bubblewrap sandbox gets. The system's own is preferred: it lies in /usr, which every
 * such sandbox sees, and its version is told by the name behind the link. Another one (pyenv, a virtual environment,
 * /opt) is asked, and gets the folder it is installed in and nothing above it.
 */
import { realpathSync } from 'node:fs';
import { posix } from 'node:path';

/** A Python that can run in a sandbox. */
export interface Interpreter {
  /** Absolute path of the program, without links. */
  readonly path: string;
  /** Folder that has to be seen in the sandbox; undefined when it lies in /usr. */
  readonly prefix?: string | undefined;
}

/** What a Python says about itself, without links in the paths. */
export interface InterpreterFacts {
  readonly path: string;
  readonly version: readonly [major: number, minor: number];
  /** Where it is installed; of a virtual environment, where its base is. */
  readonly prefix: string;
}

/** Oldest minor version of Python 3 that the kernel runs on. */
const LEAST_MINOR = 10;
const SYSTEM_PYTHON = '/usr/bin/python3';

/** Prints `InterpreterFacts` as JSON; `_base_executable` leads from a virtual environment to what it was made of. */
export const FACTS_PROGRAM = [
  'import json, os, sys',
  'path = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)',
  'print(json.dumps({"path": path, "version": sys.version_info[:2], "prefix": os.path.realpath(sys.base_prefix)}))',
].join('\n');

/** The system's Python, if its name tells that it is new enough; starts no process. */
export function systemInterpreter(resolveLinks: (path: string) => string = realpathSync): Interpreter | undefined {
  try {
    const path = resolveLinks(SYSTEM_PYTHON);
    const minor = Number(/^\/usr\/bin\/python3\.(\d+)$/.exec(path)?.[1]);
    return minor >= LEAST_MINOR ? { path } : undefined;
  } catch {
    // There is none: the others on PATH are asked.
    return undefined;
  }
}

/** The interpreter, or why it cannot be used. `homes` are folders that must stay unseen as a whole. */
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
    return `${path} is installed in ${prefix}, which holds more than Python`;
  }
  return isWithin(path, prefix) ? { path, prefix } : `${path} lies outside of ${prefix}, where it is installed`;
}

/** Reads what `FACTS_PROGRAM` printed; undefined when it is something else. */
export function parseFacts(text: string): InterpreterFacts | undefined {
  try {
    const { path, version, prefix } = JSON.parse(text) as Partial<InterpreterFacts>;
    const isWhole = [path, prefix].every((folder) => typeof folder === 'string' && posix.isAbsolute(folder));
    return isWhole && Array.isArray(version) ? ({ path, version, prefix } as InterpreterFacts) : undefined;
  } catch {
    // A wrapper script that prints other things is no interpreter for us.
    return undefined;
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
