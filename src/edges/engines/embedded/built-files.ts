/**
 * Where the files of the embedded engine are, and whether they are what the build made. The check reads and hashes 30 MB. It
 * runs on Node's thread pool while the sandbox starts, and only once as long as the files do not change.
 */
import { webcrypto } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../../core/base/errors.ts';
import { PACKAGE_ROOT } from '../../../core/base/package.ts';
import { readManifest } from './child/built-files.ts';

/** Where `npm run build` puts them. The same folder is used if the sources run without a build. */
export const BUILT_FILES_FOLDER = fileURLToPath(new URL('dist/embedded/', PACKAGE_ROOT));

export interface BuiltFilesCheck {
  /** What is wrong with the files, in one clause; undefined if nothing is. Never rejects. */
  run(): Promise<string | undefined>;
}

/** A check of the files in `folder`. The result is kept until one of them changes. */
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

/** A text that changes when a file does. Rejects with the name of a missing file. */
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
      // Not createHash: it would block the thread that has to start the sandbox.
      const digest = await webcrypto.subtle.digest('SHA-256', await readFile(join(folder, name)));
      return Buffer.from(digest).toString('hex') === sha256
        ? []
        : [`${name} differs from the build (SHA-256 mismatch)`];
    }),
  );
  return faults.flat()[0];
}
