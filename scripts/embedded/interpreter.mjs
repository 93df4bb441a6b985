// @ts-check
/** Copies the interpreter of the embedded engine from `sandbox-runtime/wasm` into a folder. */
import { createHash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** The interpreter and its standard library. */
const INTERPRETER_FILES = ['python.wasm', 'stdlib.pack'];
const LICENSES = 'licenses';

/**
 * Unpacks the committed files. Throws if a checksum does not match.
 * @param {string} source
 * @param {string} folder
 */
export async function unpackInterpreter(source, folder) {
  const sums = await readChecksums(join(source, 'artifacts.sha256'));
  for (const name of INTERPRETER_FILES) {
    const bytes = await promisify(brotliDecompress)(await readFile(join(source, 'artifacts', `${name}.br`)));
    if (sums.get(name) !== createHash('sha256').update(bytes).digest('hex')) {
      throw new Error(`${join(source, 'artifacts', name)}.br does not match its checksum in artifacts.sha256`);
    }
    await writeFile(join(folder, name), bytes);
  }
  await cp(join(source, LICENSES), join(folder, LICENSES), { recursive: true });
}

/**
 * Copies the files of a local build (`sandbox-runtime/wasm/build.sh`), to test it before storing it.
 * @param {string} source
 * @param {string} folder
 */
export async function copyInterpreter(source, folder) {
  for (const name of INTERPRETER_FILES) {
    await cp(join(source, name), join(folder, name));
  }
}

/**
 * SHA-256 in hexadecimal by name, from a file written by `sha256sum`.
 * @param {string} file
 * @returns {Promise<Map<string, string>>}
 */
async function readChecksums(file) {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return new Map(lines.map((line) => [line.slice(64 + 2), line.slice(0, 64)]));
}
