/** Installs the neighbours from npm into a folder of their own. Nothing of them becomes part of this project. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Neighbour } from './neighbour.ts';

/** For those that do not run on the oldest Node that the bridge supports. */
const NEWER_NODE = '24.21.0';
const MIN_MAJOR = 24;

/**
 * Installs the pinned packages unless they are there, without install scripts unless it needs them. Returns their folder and the Node that
 * runs them.
 */
export async function install(neighbour: Neighbour, root: string): Promise<{ folder: string; node: string }> {
  const folder = join(root, neighbour.name.replaceAll(/[^\w-]+/g, '-').replace(/^-/, ''));
  await mkdir(folder, { recursive: true });
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
  return { folder, node: ownNode ? join(folder, 'node_modules', nodePackage, 'bin/node') : process.execPath };
}
