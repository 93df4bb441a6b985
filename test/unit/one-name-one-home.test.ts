/** Each exported name of `src` has one owner, so that a word in the code has one sense. Names handed on by another module do not count. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:class|const enum|const|enum|function\*?|interface|let|type(?! \{)|var) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\}( from )?/gm;

/** What a module declares and exports. Overloads of a function are one name. */
function exportsOf(text: string): Set<string> {
  const declared = [...text.matchAll(DECLARATION)].map(([, name = '']) => name);
  const listed = [...text.matchAll(LIST)].flatMap(([, names = '', from]) =>
    from === undefined ? names.split(',').map((name) => name.trim().replace(/^(?:type )?(?:.* as )?/, '')) : [],
  );
  return new Set([...declared, ...listed].filter((name) => name !== ''));
}

/** The names that more than one module owns, each with these modules. */
function sharedNames(modules: ReadonlyMap<string, string>): string[] {
  const homes = new Map<string, string[]>();
  for (const [path, text] of modules) {
    for (const name of exportsOf(text)) {
      homes.set(name, [...(homes.get(name) ?? []), path]);
    }
  }
  return [...homes].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

function readModules(): Map<string, string> {
  const root = fileURLToPath(new URL('../../src', import.meta.url));
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  return new Map(paths.toSorted().map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

describe('an exported name', () => {
  it('has one home in src', () => {
    const modules = readModules();
    expect([...modules.values()].flatMap((text) => [...exportsOf(text)]).length).toBeGreaterThan(500);
    expect(sharedNames(modules)).toEqual([]);
  });

  it.each([
    'export interface Place {',
    'export type Place = string;',
    'export type Place<Value> = Value;',
    'export class Place {',
    'export abstract class Place {',
    'export function Place() {',
    'export async function Place() {',
    'export function* Place() {',
    'export const Place = 1;',
    'const Place = 1;\nexport { Place };',
    'export {\n  type Place,\n};',
    'const other = 1;\nexport { other as Place };',
  ])('is seen in %j', (text) => {
    const modules = new Map([
      ['one.ts', 'export interface Place {}'],
      ['two.ts', text],
    ]);
    expect(sharedNames(modules)).toEqual(['Place: one.ts, two.ts']);
  });

  it.each([
    "export { Place } from './one.ts';",
    "export type { Place } from './one.ts';",
    "export * from './one.ts';",
    'interface Place {}',
    '/** export interface Place {} */',
  ])('is not owned by %j', (text) => {
    const modules = new Map([
      ['one.ts', 'export interface Place {}'],
      ['two.ts', text],
    ]);
    expect(sharedNames(modules)).toEqual([]);
  });
});
