/** Each of these rules must fire on a sample, because a configuration that matches nothing would pass all code. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORTS = 'eslint(no-restricted-imports)';

/** Code that must be refused: file, text and rule. */
const REFUSED: readonly (readonly [path: string, code: string, rule: string])[] = [
  ['src/app/cli/ring-a.ts', "import './ring-b.ts';", 'import(no-cycle)'],
  ['src/app/cli/ring-b.ts', "import './ring-a.ts';", 'import(no-cycle)'],
  [
    'src/app/cli/types-a.ts',
    "import type { B } from './types-b.ts';\nexport interface A { readonly b: B }",
    'import(no-cycle)',
  ],
  [
    'src/app/cli/types-b.ts',
    "import type { A } from './types-a.ts';\nexport interface B { readonly a: A }",
    'import(no-cycle)',
  ],
  ['src/app/cli/exit.ts', 'process.exit(1);', 'unicorn(no-process-exit)'],
  ['src/core/session/print.ts', "console.log('x');", 'eslint(no-console)'],
  ['src/core/session/stdout.ts', "process.stdout.write('x');", 'eslint(no-restricted-properties)'],
  ['src/core/session/lost.ts', 'async function f() {}\nf();', 'typescript(no-floating-promises)'],
  ['src/core/session/any.ts', 'export const x: any = 1;', 'typescript(no-explicit-any)'],
  ['test/e2e/slept.ts', 'setTimeout(() => undefined, 100);', 'eslint(no-restricted-globals)'],
  ['test/e2e/slept-too.ts', "import { setTimeout as sleep } from 'node:timers/promises';\nawait sleep(1);", IMPORTS],
  ['src/core/session/thrown.ts', "throw 'text';", 'typescript(only-throw-error)'],
  ['src/core/session/camelCase.ts', 'export const x = 1;', 'unicorn(filename-case)'],
  [
    'src/core/session/long-function.ts',
    `export function f() {${'\nf();'.repeat(50)}\n}`,
    'eslint(max-lines-per-function)',
  ],
];

interface Report {
  readonly diagnostics: readonly { readonly code: string; readonly filename: string }[];
}

let folder: string;
let report: Report;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bridge-lint-'));
  await copyFile(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
  await copyFile(join(ROOT, 'tsconfig.json'), join(folder, 'tsconfig.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await Promise.all(
    REFUSED.map(async ([path, code]) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), `${code}\n`);
    }),
  );
  report = await lint();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** oxlint exits with an error when it finds something, as it must here. */
async function lint(): Promise<Report> {
  const program = join(ROOT, 'node_modules', '.bin', 'oxlint');
  const stdout = await new Promise<string>((resolve) => {
    execFile(program, ['--format', 'json', 'src', 'test'], { cwd: folder }, (_error, text) => resolve(text));
  });
  return JSON.parse(stdout) as Report;
}

function rulesFor(path: string): string[] {
  return report.diagnostics.flatMap(({ filename, code }) => (filename === path ? code : []));
}

it.each(REFUSED)('refuses the code in %s', (path, _code, rule) => {
  expect(rulesFor(path)).toContain(rule);
});
