/**
 * What IPython and Python document about code in a notebook, and whether a program does it. `behaviours.txt` has the list; every program
 * is checked in the same way, by the text that an agent would see.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../src/core/base/errors.ts';

export interface Behaviour {
  readonly name: string;
  /** Those before the one whose text is checked. */
  readonly before: readonly string[];
  readonly cell: string;
  readonly after: readonly string[];
  readonly matches: readonly RegExp[];
  readonly matchesNot: readonly RegExp[];
}

/** One session of a program, with what the agent sees of a cell. A rejection is what it sees of a cell that failed. */
export interface PythonSession {
  cell(code: string): Promise<string>;
  close(): Promise<void>;
}

const LIST = new URL('behaviours.txt', import.meta.url);
const CELL_LIMIT_MS = 30_000;
/** Of each kind of program. Colours of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape codes begin with one.
const COLOURS = /\u001b\[[\d;]*m/g;

export async function readBehaviours(): Promise<readonly Behaviour[]> {
  const [, ...parts] = (await readFile(LIST, 'utf8')).split(/^## /m);
  return parts.map(parseBehaviour);
}

function parseBehaviour(part: string): Behaviour {
  const [name = '', ...lines] = part
    .replace(/^== .*$/m, '')
    .trimEnd()
    .split('\n');
  const first = lines.findIndex((line) => /^[=!]> /.test(line));
  const patterns = lines.filter((line) => /^[=!]> /.test(line));
  const cells = cellsOf(lines.slice(0, first));
  const compiled = (mark: string) =>
    patterns.filter((line) => line.startsWith(mark)).map((line) => new RegExp(line.slice(mark.length), 'mu'));
  return {
    name,
    before: cells.slice(0, -1),
    cell: cells.at(-1) ?? '',
    after: cellsOf(lines.slice(first + patterns.length)),
    matches: compiled('=> '),
    matchesNot: compiled('!> '),
  };
}

function cellsOf(lines: readonly string[]): string[] {
  const cells = lines.join('\n').split(/^---$/m);
  return cells.map((cell) => cell.replaceAll(/^\n|\n$/g, '')).filter((cell) => cell !== '');
}

export function holds({ matches, matchesNot }: Behaviour, text: string): boolean {
  const plain = text.replaceAll(COLOURS, '');
  return matches.every((pattern) => pattern.test(plain)) && !matchesNot.some((pattern) => pattern.test(plain));
}

/** The behaviours that do not hold, with the text that was seen instead. All run in one session, or in a new one after it ended. */
export async function findMissing(
  open: () => Promise<PythonSession>,
  behaviours: readonly Behaviour[],
): Promise<ReadonlyMap<string, string>> {
  const missing = new Map<string, string>();
  let session: PythonSession | undefined;
  try {
    for (const behaviour of behaviours) {
      session ??= await open();
      const { cell } = session;
      for (const code of behaviour.before) {
        await textOf(cell, code);
      }
      const text = await textOf(cell, behaviour.cell);
      for (const code of behaviour.after) {
        await textOf(cell, code);
      }
      if (!holds(behaviour, text)) {
        missing.set(behaviour.name, text);
        if (!/^.*\b1764\b/m.test(await textOf(cell, '42 * 42'))) {
          await session.close().catch(() => undefined);
          session = undefined;
        }
      }
    }
  } finally {
    await session?.close().catch(() => undefined);
  }
  return missing;
}

/** What the agent sees, whether the cell failed or not. */
async function textOf(cell: PythonSession['cell'], code: string): Promise<string> {
  const late = new AbortController();
  const limit = sleep(CELL_LIMIT_MS, 'no answer', { signal: late.signal }).catch(() => '');
  const text = await Promise.race([cell(code).catch(messageOf), limit]);
  late.abort();
  return text;
}
