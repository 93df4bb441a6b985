/** Tools and judged queries in a folder that is not part of this project; `bench/search-quality.ts` says what it has. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JudgedQuery } from '../../test/support/search-quality.ts';

export interface ToolLine {
  readonly server: string;
  readonly tool: string;
  readonly description?: string | null;
  readonly parameters?: readonly string[] | null;
}

interface QueryLine {
  readonly query: string;
  readonly kind: string;
  readonly relevant: readonly { readonly server: string; readonly tool: string; readonly group: number }[];
}

export function readTools(folder: string): Promise<ToolLine[]> {
  return readLines<ToolLine>(join(folder, 'tools.jsonl'));
}

export async function queryFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^queries.*\.jsonl$/.test(name)).toSorted();
}

/** The queries of `files`, by default of all. `nameOf` makes the name of a tool as the search returns it. */
export async function readJudged(
  folder: string,
  nameOf: (server: string, tool: string) => string,
  files?: readonly string[],
): Promise<JudgedQuery[]> {
  const names = files ?? (await queryFiles(folder));
  const lines = await Promise.all(names.map((name) => readLines<QueryLine>(join(folder, name))));
  return lines.flat().map((line) => toJudged(line, nameOf));
}

async function readLines<Line>(path: string): Promise<Line[]> {
  const text = await readFile(path, 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line) as Line);
}

function toJudged({ query, kind, relevant }: QueryLine, nameOf: (server: string, tool: string) => string): JudgedQuery {
  const groups = new Map<number, string[]>();
  for (const { server, tool, group } of relevant) {
    groups.set(group, [...(groups.get(group) ?? []), nameOf(server, tool)]);
  }
  return { query, kind, groups: [...groups.values()] };
}
