/**
 * Checks the sources against the table of folders. Unlike the linter, it includes type imports and sees the whole graph: the
 * core knows no feature, a feature can be removed with its folder and its lines in `bridge/` and `cli/`, and there are no
 * import cycles.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAYERS, mayImport } from '../../scripts/generate/layers.ts';

const SRC = join(import.meta.dirname, '../../src');
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
/** Imports and re-exports of values and types, at the top of a file or with `import()`. */
const RELATIVE = /\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g;

const GRAPH: ReadonlyMap<string, readonly string[]> = new Map(
  FILES.map((file) => {
    const text = readFileSync(join(SRC, file), 'utf8');
    const targets = [...text.matchAll(RELATIVE)].map(([, path = '']) => posix.join(posix.dirname(file), path));
    return [file, targets.filter((target) => target.endsWith('.ts') && !target.endsWith('.d.ts'))];
  }),
);
const EDGES = [...GRAPH].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));

it('reads the whole graph', () => {
  expect(FILES.length).toBeGreaterThan(300);
  expect(EDGES.filter(([, to]) => !GRAPH.has(to))).toEqual([]);
});

it('every folder is in the table, and every folder of the table exists', () => {
  const folders = new Set(FILES.flatMap((file) => (file.includes('/') ? file.split('/')[0] : [])));
  expect(folders).toEqual(new Set(LAYERS.map(({ folder }) => folder)));
});

it('every import is allowed by the table', () => {
  expect(EDGES.filter(([from, to]) => !mayImport(from, to)).map((edge) => edge.join(' → '))).toEqual([]);
});

it('there are no import cycles', () => {
  expect(findCircle(GRAPH)).toBeUndefined();
  expect(
    findCircle(
      new Map([
        ['a', ['b']],
        ['b', ['c']],
        ['c', ['a']],
      ]),
    ),
  ).toEqual(['a', 'b', 'c', 'a']);
});

describe.each(LAYERS.filter(({ kind }) => kind === 'feature').map(({ folder }) => folder))(
  'the feature %s',
  (folder) => {
    const isInside = (file: string) => file.startsWith(`${folder}/`);

    it('is imported only by bridge/ and cli/, through its index', () => {
      const users = EDGES.filter(([from, to]) => isInside(to) && !isInside(from));
      expect(users.length).toBeGreaterThan(0);
      expect(users.filter(([from, to]) => !/^(?:bridge|cli)\//.test(from) || to !== `${folder}/index.ts`)).toEqual([]);
    });

    it('imports no other feature', () => {
      const others = new Set(LAYERS.filter(({ kind }) => kind === 'feature').map((layer) => layer.folder));
      const foreign = EDGES.filter(
        ([from, to]) => isInside(from) && !isInside(to) && others.has(to.split('/')[0] ?? ''),
      );
      expect(foreign).toEqual([]);
    });
  },
);

/** The first cycle, with its first file repeated at the end. */
function findCircle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (path.includes(file)) {
      return [...path.slice(path.indexOf(file)), file];
    }
    if (done.has(file)) {
      return undefined;
    }
    path.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) {
        return circle;
      }
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) {
      return circle;
    }
  }
  return undefined;
}
