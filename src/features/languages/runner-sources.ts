/** The sources of our runner for Node, which run in sandboxes. */
import { readFile } from 'node:fs/promises';
import { PACKAGE_ROOT } from '../../core/base/package.ts';

let sources: Promise<readonly [runner: string, preload: string]> | undefined;

/** The arguments with which Node runs a program. */
export async function nodeArguments(): Promise<string[]> {
  sources ??= Promise.all([read('runner.mjs'), read('preload.mjs')]);
  const [runner, preload] = await sources;
  return ['--no-warnings', '--input-type=module', '-e', runner, preload];
}

async function read(name: string): Promise<string> {
  return readFile(new URL(`sandbox-runtime/program_runner/${name}`, PACKAGE_ROOT), 'utf8');
}
