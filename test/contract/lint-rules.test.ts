/** Every rule that guards the architecture is seen to fire: a configuration that matches nothing would pass all code. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const IMPORTS = 'eslint(no-restricted-imports)';

/** Code that must be refused: the file it stands in, the text, and the rule. */
const REFUSED: readonly (readonly [path: string, code: string, rule: string])[] = [
  ['src/base/errors.ts', "import '../log.ts';", IMPORTS],
  ['src/base/limits.ts', "import './protocol/codec.ts';", IMPORTS],
  ['src/cli.ts', "import './session/session.ts';", IMPORTS],
  ['src/clients/disk.ts', "import 'node:fs/promises';", IMPORTS],
  ['src/clients/upward.ts', "import '../config/settings.ts';", IMPORTS],
  ['src/protocol/disk.ts', "import 'node:fs/promises';", IMPORTS],
  ['src/protocol/upward.ts', "import '../session/session.ts';", IMPORTS],
  ['src/catalog/net.ts', "import 'node:net';", IMPORTS],
  ['src/catalog/upward.ts', "import '../upstream/pool.ts';", IMPORTS],
  ['src/render/process.ts', "import 'node:child_process';", IMPORTS],
  ['src/render/upward.ts', "import '../server/server.ts';", IMPORTS],
  ['src/policy/disk.ts', "import 'node:fs';", IMPORTS],
  ['src/policy/upward.ts', "import '../commands/bridge.ts';", IMPORTS],
  ['src/policy/files.ts', "import '../config/policy-file.ts';", IMPORTS],
  ['src/config/upward.ts', "import '../upstream/pool.ts';", IMPORTS],
  ['src/config/driver.ts', "import '../engines/podman.ts';", IMPORTS],
  ['src/engines/upward.ts', "import '../session/session.ts';", IMPORTS],
  ['src/engines/embedded/deep.ts', "import '../../config/settings.ts';", IMPORTS],
  ['src/upstream/upward.ts', "import '../catalog/catalog.ts';", IMPORTS],
  ['src/upstream/front.ts', "import '@modelcontextprotocol/server';", IMPORTS],
  ['src/audit/upward.ts', "import '../session/recorder.ts';", IMPORTS],
  ['src/audit/settings.ts', "import '../config/settings.ts';", IMPORTS],
  ['src/session/driver.ts', "import '../engines/podman.ts';", IMPORTS],
  ['src/session/lazily.ts', "export const later = () => import('../config/settings.ts');", IMPORTS],
  ['src/session/client.ts', "import '@modelcontextprotocol/client';", IMPORTS],
  ['src/server/driver.ts', "import '../engines/engine.ts';", IMPORTS],
  ['src/server/client.ts', "import '@modelcontextprotocol/client/stdio';", IMPORTS],
  ['src/commands/front.ts', "import '@modelcontextprotocol/server/stdio';", IMPORTS],
  ['src/commands/ring-a.ts', "import './ring-b.ts';", 'import(no-cycle)'],
  ['src/commands/ring-b.ts', "import './ring-a.ts';", 'import(no-cycle)'],
  ['src/commands/exit.ts', 'process.exit(1);', 'unicorn(no-process-exit)'],
  ['src/session/print.ts', "console.log('x');", 'eslint(no-console)'],
  ['src/session/stdout.ts', "process.stdout.write('x');", 'eslint(no-restricted-properties)'],
  ['src/session/lost.ts', 'async function f() {}\nf();', 'typescript(no-floating-promises)'],
  ['src/session/any.ts', 'export const x: any = 1;', 'typescript(no-explicit-any)'],
  ['test/e2e/slept.ts', 'setTimeout(() => undefined, 100);', 'eslint(no-restricted-globals)'],
  ['test/e2e/slept-too.ts', "import { setTimeout as sleep } from 'node:timers/promises';\nawait sleep(1);", IMPORTS],
  ['src/session/thrown.ts', "throw 'text';", 'typescript(only-throw-error)'],
  ['src/session/camelCase.ts', 'export const x = 1;', 'unicorn(filename-case)'],
  ['src/session/long.ts', `export const x = 1;${'\n// more'.repeat(350)}`, 'eslint(max-lines)'],
  ['src/session/long-function.ts', `export function f() {${'\nf();'.repeat(50)}\n}`, 'eslint(max-lines-per-function)'],
];

/** Code that must be let through. */
const ALLOWED: readonly (readonly [path: string, code: string])[] = [
  ['src/session/contract.ts', "import '../engines/engine.ts';\nimport '../protocol/codec.ts';\nimport '../errors.ts';"],
  ['src/config/names.ts', "import '../engines/engine.ts';"],
  ['src/policy/pure.ts', "import '../catalog/names.ts';\nimport '../config/units.ts';"],
  ['src/audit/folder.ts', "import '../config/state-files.ts';\nimport '../protocol/codec.ts';"],
  ['src/catalog/pure.ts', "import 'node:crypto';\nimport '../limits.ts';"],
  ['test/e2e/turn.ts', "import { setImmediate as turn } from 'node:timers/promises';\nawait turn();"],
  ['src/commands/everything.ts', "import '../engines/podman.ts';\nimport '../upstream/pool.ts';"],
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
    [...REFUSED, ...ALLOWED].map(async ([path, code]) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), `${code}\n`);
    }),
  );
  report = await lint();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** oxlint ends with an error code when it finds something, as it must here. */
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

it.each(REFUSED)('refuses what stands in %s', (path, _code, rule) => {
  expect(rulesFor(path)).toContain(rule);
});

it.each(ALLOWED)('allows what stands in %s', (path) => {
  expect(rulesFor(path)).not.toContain(IMPORTS);
});
