/** What a task is, and helpers for checkers. */
import type { Tree, Workspace } from '../workspace.ts';

export interface EvalTask {
  readonly id: string;
  readonly title: string;
  /** Uses the web shop: in a real browser if there is one, otherwise over HTTP. */
  readonly usesShop?: true;
  /** Adds the data of this task to the workspace. */
  build(workspace: Workspace): void;
  prompt(workspace: Workspace): string;
  /** What is wrong with the workspace or the stated answer; empty if the task is done. `answer` is what `answerOf` returns. */
  check(workspace: Workspace, answer: string): readonly string[];
}

const MARK = 'ANSWER:';

/** Told with every task, in both modes. */
export const RULES = `Work only with the tools you are given, and do not ask questions. Relative paths are relative to the folder of the filesystem server. End with one line that starts with ${MARK} and states the answer; if the task only asks for changes, the answer is "done".`;

/** The stated answer: what follows the last mark, or everything if there is none. */
export function answerOf(text: string): string {
  const at = text.lastIndexOf(MARK);
  return (at === -1 ? text : text.slice(at + MARK.length)).trim().replaceAll(/^[`*"]+|[`*".]+$/g, '');
}

export function expectAnswer(actual: string, expected: string): readonly string[] {
  return actual === expected ? [] : [`the answer is "${actual.slice(0, 200)}", not "${expected}"`];
}

/** An answer that lists items, in any order. */
export function expectList(actual: string, expected: readonly string[]): readonly string[] {
  const items = actual.split(/[\s,;]+/).filter((item) => item !== '');
  return expectAnswer(items.toSorted().join(', '), expected.toSorted().join(', '));
}

/** One problem for each file that differs, is missing, or should not be there. `same` compares two texts of a file. */
export function compareTrees(
  actual: Tree,
  expected: Tree,
  same = (a: string, b: string) => a === b,
): readonly string[] {
  const paths = [...new Set([...Object.keys(actual), ...Object.keys(expected)])].toSorted();
  return paths.flatMap((path) => {
    const [is, should] = [actual[path], expected[path]];
    if (is === undefined || should === undefined) {
      return [`${path} ${is === undefined ? 'is missing' : 'should not be there'}`];
    }
    return same(is, should) ? [] : [`${path} differs`];
  });
}

/** Ignores white space at the end, for files whose last line break the task does not mention. */
export function sameTrimmed(a: string, b: string): boolean {
  return a.replaceAll('\r\n', '\n').trimEnd() === b.trimEnd();
}

export function sameJson(a: string, b: string): boolean {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
  } catch {
    // Not JSON, so it is not the expected JSON.
    return false;
  }
}
