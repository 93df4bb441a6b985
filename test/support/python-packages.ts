/** Packages from the package index of this machine, for tests that compare with what people install. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { findPython } from '../tools/python.mjs';

const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'python-packages');
/** Small, without dependencies, and never going to change. */
const PROBE = 'six==1.16.0';

const MAX_NAME_CHARS = 200;

/** Why this machine cannot install packages, for the name of a skipped test; undefined if it can. */
export async function whyNoPythonPackages(): Promise<string | undefined> {
  const python = await findPython();
  if (python === undefined) {
    return 'there is no python3 >= 3.10';
  }
  const folder = await mkdtemp(join(tmpdir(), 'bridge-probe-'));
  const probe = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--no-cache-dir',
    '--retries',
    '0',
    '--dest',
    folder,
    PROBE,
  ];
  const { exitCode } = await execa(python, probe, { reject: false, stdin: 'ignore' });
  await rm(folder, { recursive: true });
  return exitCode === 0 ? undefined : 'pip is missing or finds no package index';
}

/** 11 for Python 3.11. */
export async function pythonMinorVersion(): Promise<number> {
  const python = (await findPython()) ?? 'python3';
  const { stdout } = await execa(python, ['-c', 'import sys; print(sys.version_info[1])']);
  return Number(stdout);
}

/**
 * Installs packages into a folder of their own, which is kept for later runs, and returns it. `flags` are further ones of
 * `pip install`. Throws what pip says.
 */
export async function installPythonPackages(
  requirements: readonly string[],
  flags: readonly string[] = [],
): Promise<string> {
  const python = (await findPython()) ?? 'python3';
  const name = [`python3.${await pythonMinorVersion()}`, ...requirements].join(' ');
  // File systems take names of 255 bytes.
  const hash = createHash('sha256').update(name).digest('hex');
  const folder = join(CACHE, name.length > MAX_NAME_CHARS ? hash : name);
  if (!existsSync(folder)) {
    const begun = `${folder}.${process.pid}`;
    const options = [
      '--quiet',
      '--disable-pip-version-check',
      '--no-compile',
      '--only-binary',
      ':all:',
      '--target',
      begun,
    ];
    await execa(python, ['-m', 'pip', 'install', ...options, ...flags, ...requirements], { stdin: 'ignore' });
    await rename(begun, folder);
  }
  return folder;
}
