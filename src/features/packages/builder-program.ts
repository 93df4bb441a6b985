/** The program that builders run. */
import { readFile } from 'node:fs/promises';
import { PACKAGE_ROOT } from '../../core/base/package.ts';

/** Its source. */
export async function readBuilderProgram(): Promise<string> {
  return readFile(new URL('sandbox-runtime/package_builder/builder.py', PACKAGE_ROOT), 'utf8');
}
