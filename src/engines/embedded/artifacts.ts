/**
 * The built files of the embedded engine: where they lie, and whether they are what was built. The check reads and hashes
 * 30 MB; it runs on threads of Node's pool while the sandbox starts, once for as long as the files do not change.
 */
import { webcrypto } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../base/errors.ts';
import { PACKAGE_ROOT } from '../../base/package.ts';
import { readManifest } from './child/artifacts.ts';

/** Where `npm run build` puts them; also used by the sources when they run as they are. */
export const BUILT_FILES_FOLDER = fileURLToPath(new URL('dist/embedded/', PACKAGE_ROOT));

export interface BuiltFilesCheck {
  /** What is wrong with the files, in one clause; undefined when they are what was built. Never rejects. */
  run(): Promise<string | undefined>;
}

/** A check of the files in `folder`, whose good result is kept until one of them changes. */
export function createBuiltFilesCheck(folder: string): BuiltFilesCheck {
  let known: { readonly stamp: string; readonly fault: Promise<string | undefined> } | undefined;
  return {
    async run() {
      try {
        const files = Object.entries(readManifest(folder).files);
        const stamp = await stampOf(folder, files);
        if (known?.stamp !== stamp) {
          known = { stamp, fault: findFault(folder, files) };
        }
        return await known.fault;
      } catch (error) {
        known = undefined;
        return messageOf(error);
      }
    },
  };
}

type Files = readonly (readonly [name: string, entry: { readonly sha256: string }])[];

/** Changes when a file does. Rejects naming one that is missing. */
async function stampOf(folder: string, files: Files): Promise<string> {
  const stamps = await Promise.all(
    files.map(async ([name, { sha256 }]) => {
      const { ino, mtimeMs, size } = await stat(join(folder, name)).catch(() => {
        throw new Error(`${name} is missing`);
      });
      return `${name} ${sha256} ${ino} ${mtimeMs} ${size}`;
    }),
  );
  return stamps.join('\n');
}

async function findFault(folder: string, files: Files): Promise<string | undefined> {
  const faults = await Promise.all(
    files.map(async ([name, { sha256 }]) => {
      // Not createHash: it would hold the thread that has to start the sandbox.
      const digest = await webcrypto.subtle.digest('SHA-256', await readFile(join(folder, name)));
      return Buffer.from(digest).toString('hex') === sha256 ? [] : [`${name} is not what was built (SHA-256 differs)`];
    }),
  );
  return faults.flat()[0];
}
