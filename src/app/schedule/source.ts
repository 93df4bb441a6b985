/** The code of a schedule: from a file, as text, or a call of a saved function. */
import { createHash } from 'node:crypto';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { readCode } from '../../edges/terminal/code-source.ts';
import type { CommandContext } from '../../edges/terminal/command.ts';
import { argumentsOfFunction, cellFor } from '../../edges/terminal/kept-function.ts';
import type { Entry } from './store.ts';

export interface ScheduledCode {
  readonly code: string;
  /** Names in its source that may be servers. */
  readonly named: readonly string[];
  /** SHA-256 of all that is the person's: the code, or the source of the function and its arguments, and the functions that these name. */
  readonly hash: string;
}

/** Rejects with `USAGE_INVALID` if there is no such file or function, or its arguments are wrong. */
export async function readSource(
  { source }: Pick<Entry, 'source'>,
  context: Pick<CommandContext, 'findFunction' | 'listFunctions'>,
): Promise<ScheduledCode> {
  const { findFunction } = context;
  if ('tool' in source) {
    const kept = await findFunction(source.tool);
    const code = cellFor(kept, await argumentsOfFunction(source.arguments, undefined, kept), false);
    const named = await functionsNamedIn(kept.source, context, [kept.name]);
    return { code, named: kept.servers, hash: hashOf(kept.source, code, ...named) };
  }
  const code = 'code' in source ? source.code : await readCode({ code: undefined, path: source.file }, process.stdin);
  if (code.trim() === '') {
    throw new BridgeError('USAGE_INVALID', 'the code of the schedule is empty');
  }
  return { code, named: [], hash: hashOf(code, ...(await functionsNamedIn(code, context))) };
}

/** The sources of saved functions that code names, and of those that these name: all of them run with it. */
async function functionsNamedIn(
  code: string,
  { findFunction, listFunctions }: Pick<CommandContext, 'findFunction' | 'listFunctions'>,
  known: readonly string[] = [],
): Promise<readonly string[]> {
  const left = new Set(await listFunctions());
  known.forEach((name) => left.delete(name));
  const sources = new Map<string, string>();
  const texts = [code];
  for (let text = texts.pop(); text !== undefined; text = texts.pop()) {
    const words = new Set(text.match(/[\p{ID_Start}_][\p{ID_Continue}]*/gu));
    for (const name of [...left].filter((each) => words.has(each))) {
      left.delete(name);
      const source = await findFunction(name).then(
        (found) => found.source,
        (error: unknown) => `not loaded: ${messageOf(error)}`,
      );
      sources.set(name, source);
      texts.push(source);
    }
  }
  return [...sources].toSorted(([a], [b]) => (a < b ? -1 : 1)).flat();
}

/** `report.py`, `weekly_report(…)`, or the first line of the code. */
export function describeSource({ source }: Pick<Entry, 'source'>): string {
  if ('tool' in source) {
    return `${source.tool}(${source.arguments.join(', ')})`;
  }
  return 'file' in source ? source.file : (source.code.trim().split('\n')[0] ?? '');
}

function hashOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  texts.forEach((text) => hash.update(`${text.length}\n${text}`));
  return hash.digest('hex');
}
