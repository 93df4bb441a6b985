/**
 * Checks the sources against the table of folders, with type imports and the whole graph: the core knows no feature, a feature
 * can be removed with its folder and its lines in `bridge/` and `cli/`, and there are no import cycles.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAYERS, mayImport, mayImportPackage, withoutTier } from '../../scripts/generate/layers.ts';

const SRC = join(import.meta.dirname, '../../src');
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'));
/** Imports and re-exports of values and types, at the top of a file or with `import()`. */
const IMPORT = /\b(?:from|import)\s*\(?\s*'([^'\s]+)'/g;

/** Files are without their tier here, except to be read. */
const IMPORTS: readonly (readonly [file: string, names: readonly string[]])[] = FILES.map((file) => {
  const text = readFileSync(join(SRC, file), 'utf8');
  const names = [...text.matchAll(IMPORT)].map(([, name = '']) => name);
  const target = (name: string): string => `./${withoutTier(posix.join(posix.dirname(file), name))}`;
  return [withoutTier(file), names.map((name) => (isRelative(name) ? target(name) : name))];
});
const GRAPH: ReadonlyMap<string, readonly string[]> = new Map(
  IMPORTS.map(([file, names]) => {
    const targets = names.filter(isRelative).map((name) => name.slice('./'.length));
    return [file, targets.filter((target) => /\.tsx?$/.test(target) && !target.endsWith('.d.ts'))];
  }),
);
const EDGES = [...GRAPH].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));

it('reads the whole graph', () => {
  expect(FILES.length).toBeGreaterThan(300);
  expect(EDGES.filter(([, to]) => !GRAPH.has(to))).toEqual([]);
});

it('every folder is in the table, and every folder of the table exists', () => {
  const folders = new Set(FILES.flatMap((file) => (file.includes('/') ? file.split('/').slice(0, 2).join('/') : [])));
  expect(folders).toEqual(new Set(LAYERS.map(({ folder, tier }) => `${tier}/${folder}`)));
});

it('every import is allowed by the table', () => {
  expect(EDGES.filter(([from, to]) => !mayImport(from, to)).map((edge) => edge.join(' → '))).toEqual([]);
});

it('every import of a package is allowed', () => {
  const packages = IMPORTS.flatMap(([file, names]) =>
    names.filter((name) => !isRelative(name)).map((name) => [file, name] as const),
  );
  expect(packages.length).toBeGreaterThan(300);
  expect(packages.filter(([file, name]) => !mayImportPackage(file, name)).map((edge) => edge.join(' → '))).toEqual([]);
});

it.each([
  ['cli.ts', 'session/session.ts', false],
  ['state/x.ts', 'settings/settings.ts', false],
  ['engines/embedded/child/x.ts', 'session/session.ts', false],
  ['engines/x.ts', 'session/engine.ts', true],
  ['calls/x.ts', 'upstream/pool.ts', false],
  ['session/x.ts', 'engines/container/podman.ts', false],
  ['policy/rules/x.ts', 'calls/contract.ts', true],
  ['policy/rules/x.ts', 'calls/tool-calls.ts', false],
  ['pins/x.ts', 'audit/index.ts', false],
  ['ui/page/x.tsx', 'ui/routes.ts', false],
  ['bridge/x.ts', 'policy/index.ts', true],
  ['bridge/x.ts', 'policy/gate.ts', false],
])('whether %s may import %s: %s', (from, to, isAllowed) => {
  expect(mayImport(from, to)).toBe(isAllowed);
});

it.each([
  ['catalog/x.ts', 'node:crypto', true],
  ['catalog/x.ts', 'node:fs/promises', false],
  ['policy/rules/x.ts', 'node:fs', false],
  ['policy/x.ts', 'node:fs', true],
  ['upstream/x.ts', '@modelcontextprotocol/client/stdio', true],
  ['session/x.ts', '@modelcontextprotocol/client', false],
  ['server/x.ts', '@modelcontextprotocol/server', true],
  ['bridge/x.ts', '@modelcontextprotocol/server/stdio', false],
])('whether %s may import the package %s: %s', (from, name, isAllowed) => {
  expect(mayImportPackage(from, name)).toBe(isAllowed);
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

function isRelative(name: string): boolean {
  return name.startsWith('.');
}

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
