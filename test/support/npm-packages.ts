/** Packages of exact versions from npm, installed into a folder outside this package. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface InstallOptions {
  /** A folder that already contains them is reused. By default one in the temporary folder, named after the packages. */
  readonly folder?: string | undefined;
  /** More options of `npm install`. */
  readonly flags?: readonly string[];
}

/** Installs `name@version` packages, and returns the folder. */
export function installPackages(specs: readonly string[], { folder, flags = [] }: InstallOptions = {}): string {
  const hash = createHash('sha256').update(specs.join('\n')).digest('hex').slice(0, 12);
  const target = folder ?? join(tmpdir(), `mcp-bridge-npm-${hash}`);
  const marker = join(target, `installed-${hash}`);
  if (!existsSync(marker)) {
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'package.json'), '{"private":true}');
    const usual = ['--loglevel=error', '--no-audit', '--no-fund', '--legacy-peer-deps', '--save-exact'];
    execFileSync('npm', ['install', ...usual, ...flags, ...specs], {
      cwd: target,
      // The caller's stdout is for its results.
      stdio: ['ignore', 'ignore', 'inherit'],
      // On Windows, npm is a script that only a shell can start.
      shell: process.platform === 'win32',
    });
    writeFileSync(marker, '');
  }
  return target;
}

/** The first program of an installed package. */
export function installedProgram(folder: string, spec: string): string {
  const manifest = join(folder, 'node_modules', spec.slice(0, spec.lastIndexOf('@')), 'package.json');
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: string | Record<string, string> };
  const program = typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? '');
  return join(dirname(manifest), program);
}
