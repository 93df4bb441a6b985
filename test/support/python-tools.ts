/** Programs of exact versions from PyPI, installed with `pip` into a virtual environment outside this package. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { messageOf } from '../../src/core/base/errors.ts';

/** What people start Python servers with. */
export const RUNNERS = ['uv==0.13.8', 'pipx==1.18.4'] as const;

/** The folder of the programs of these packages, or why there is none. */
export type PythonTools = { readonly bin: string } | { readonly missing: string };

/** Installs `name==version` packages once; later calls find them. No index that answers is no failure, but must be reported. */
export function installPythonTools(specs: readonly string[]): PythonTools {
  const hash = createHash('sha256').update(specs.join('\n')).digest('hex').slice(0, 12);
  const target = join(tmpdir(), `mcp-bridge-python-${hash}`);
  const bin = join(target, process.platform === 'win32' ? 'Scripts' : 'bin');
  const marker = join(target, 'installed');
  if (existsSync(marker)) {
    return { bin };
  }
  try {
    execFileSync('python3', ['-m', 'venv', target], { stdio: 'pipe' });
    const how = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
    execFileSync(join(bin, 'python'), [...how, ...specs], { stdio: 'pipe' });
  } catch (error) {
    // Its first line names the program; what pip says could name the index of this machine.
    return { missing: `${specs.join(', ')} cannot be installed with pip: ${messageOf(error).split('\n')[0]}` };
  }
  writeFileSync(marker, '');
  return { bin };
}

/** `PATH` with the programs of this folder first. */
export function pathWith(bin: string): string {
  return [bin, process.env['PATH']].join(delimiter);
}
