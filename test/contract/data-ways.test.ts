/** docs/internals/data-ways.md against the sources: its files and functions exist, each mentions the next, the counts are right. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTier } from '../../scripts/generate/layers.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/internals/data-ways.md'), 'utf8');

interface Step {
  readonly file: string;
  readonly name: string;
  /** The name with which it calls the next step. */
  readonly calls: string;
  /** How that name leads to the next step, if no source file says it. */
  readonly how?: string | undefined;
}

interface Way {
  readonly title: string;
  /** As the heading says. */
  readonly files: number;
  readonly steps: readonly Step[];
}

const ROW = /^\| `([^`]+)` \| `([^`]+)` \| [^|]+ \| `([^`]+)`(?: \(([^)]+)\))? \|$/gm;

const WAYS: readonly Way[] = PAGE.split(/^## /m)
  .slice(1)
  .map((section) => {
    const [, title = '', files] = /^(.+): (\d+) files$/m.exec(section) ?? [];
    const steps = [...section.matchAll(ROW)].map(([, file = '', name = '', calls = '', how]) => {
      return { file, name, calls, how };
    });
    return { title, files: Number(files), steps };
  });

/** Connects steps of different folders. */
const COMPOSITION = ['bridge/build-calls.ts', 'bridge/build-servers.ts'];

const readSource = (file: string): string => readFileSync(join(ROOT, 'src', withTier(file)), 'utf8');

/** Where steps differ from the sources that `read` gives. */
function problemsOf(steps: readonly Step[], read: (file: string) => string): string[] {
  const sources = [...new Set(steps.map(({ file }) => file)), ...COMPOSITION].map(read);
  return steps.flatMap(({ file, name, calls, how }, index) => {
    const source = read(file);
    const next = steps[index + 1]?.name ?? calls;
    const isConnected =
      calls === next || how !== undefined || sources.some((text) => mentions(text, calls) && mentions(text, next));
    return [
      ...(defines(source, name) ? [] : [`${file} has no function ${name}`]),
      ...(mentions(source, calls) ? [] : [`${file} does not mention ${calls}`]),
      ...(isConnected ? [] : [`${calls} does not lead to ${next}`]),
    ];
  });
}

/** Whether the source has a function, a method, or a member or variable of this name. */
function defines(source: string, name: string): boolean {
  const isFunction = new RegExp(`\\bfunction ${name}\\b`);
  // Parameters and type up to the brace; in a statement, an arrow or the end of a line comes first.
  const isMethod = new RegExp(`^\\s+(?:async )?${name}\\((?:(?!=>|;\\n)[^])*?\\)(?:: [^;{]+)? \\{$`, 'm');
  const isValue = new RegExp(`(?:const ${name}\\b|^\\s+${name}:) .*=>|^\\s+${name} = `, 'm');
  return [isFunction, isMethod, isValue].some((pattern) => pattern.test(source));
}

function mentions(source: string, name: string): boolean {
  return new RegExp(`(?<![\\w#])${name}\\b`).test(source);
}

it('the page has both ways', () => {
  expect(WAYS.map(({ title }) => title)).toEqual(['Code', 'A call']);
  WAYS.forEach(({ steps }) => expect(steps.length).toBeGreaterThan(10));
});

describe.each(WAYS)('$title', ({ files, steps }) => {
  it('takes the functions that the page names, and each calls the next as it says', () => {
    expect(problemsOf(steps, readSource)).toEqual([]);
  });

  it('passes as many files as the page says', () => {
    expect(new Set(steps.map(({ file }) => file)).size).toBe(files);
    expect(PAGE).toMatch(new RegExp(`(?:passes|another) ${files}\\b`));
  });
});

it('passes no more than 9 files for code and 13 for a call', () => {
  expect(WAYS.map(({ files }) => files)).toEqual([9, 12]);
});

it('names only files that exist', () => {
  const named = [...PAGE.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) =>
    file.startsWith('test/') ? file : `src/${withTier(file)}`,
  );
  expect(named.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

it('a step that does not exist, or is not called, is found', () => {
  const source =
    'function first() {\n  second();\n}\n\nclass A {\n  async #third(a: B): Promise<C> {\n    first();\n  }\n}\n';
  const step = (name: string, calls: string): Step => ({ file: 'a.ts', name, calls });
  expect(problemsOf([step('first', 'second'), step('#third', 'first')], () => source)).toEqual([]);
  expect(problemsOf([step('second', 'fourth'), step('third', 'first')], () => source)).toEqual([
    'a.ts has no function second',
    'a.ts does not mention fourth',
    'fourth does not lead to third',
    'a.ts has no function third',
  ]);
});
