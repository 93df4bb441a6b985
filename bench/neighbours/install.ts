/** Installs the neighbours from npm and PyPI into a folder of their own. Nothing of them becomes part of this project. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Neighbour, Place } from './neighbour.ts';

/** What is installed of a neighbour. */
type Installed = Pick<Neighbour, 'name' | 'registry' | 'packages' | 'needsNewerNode' | 'needsInstallScripts'>;

/** For those that do not run on the oldest Node that the bridge supports. */
const NEWER_NODE = '24.21.0';
const MIN_MAJOR = 24;

/**
 * Installs the pinned packages unless they are there; those from npm without install scripts unless it needs them. Returns their folder
 * and what runs them.
 */
export async function install(neighbour: Installed, root: string): Promise<Omit<Place, 'home'>> {
  const folder = join(root, neighbour.name.replaceAll(/[^\w-]+/g, '-').replace(/^-/, ''));
  await mkdir(folder, { recursive: true });
  if (neighbour.registry === 'pypi') {
    return { folder, node: process.execPath, python: await installPython(neighbour, folder) };
  }
  const ownNode = neighbour.needsNewerNode === true && Number(process.versions.node.split('.')[0]) < MIN_MAJOR;
  const nodePackage = `node-${process.platform}-${process.arch}`;
  const dependencies = { ...neighbour.packages, ...(ownNode && { [nodePackage]: NEWER_NODE }) };
  const manifest = `${JSON.stringify({ private: true, dependencies }, undefined, 2)}\n`;
  const installed = join(folder, 'installed.json');
  if (Object.keys(dependencies).length > 0 && (await readFile(installed, 'utf8').catch(() => '')) !== manifest) {
    await writeFile(join(folder, 'package.json'), manifest);
    const scripts = neighbour.needsInstallScripts === true ? [] : ['--ignore-scripts'];
    const flags = [...scripts, '--no-audit', '--no-fund', '--engine-strict=false', '--loglevel=error'];
    await promisify(execFile)('npm', ['install', ...flags], { cwd: folder });
    await writeFile(installed, manifest);
  }
  const node = ownNode ? join(folder, 'node_modules', nodePackage, 'bin/node') : process.execPath;
  return { folder, node, python: 'python3' };
}

/** Into a virtual environment, with pip and its configuration. Returns its interpreter. */
async function installPython({ packages }: Installed, folder: string): Promise<string> {
  const venv = join(folder, 'venv');
  const python = join(venv, 'bin/python');
  const specs = Object.entries(packages).map(([name, version]) => `${name}==${version}`);
  const installed = join(folder, 'installed.txt');
  if ((await readFile(installed, 'utf8').catch(() => '')) !== specs.join('\n')) {
    await promisify(execFile)('python3', ['-m', 'venv', '--clear', venv]);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input'];
    await promisify(execFile)(python, ['-m', 'pip', 'install', ...flags, ...specs]);
    await writeFile(installed, specs.join('\n'));
  }
  return python;
}
