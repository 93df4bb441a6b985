// @ts-check
/** Brings the interpreter of the embedded engine, as `sandbox-runtime/wasm` keeps it, into a folder. */
import { createHash } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** The interpreter, and the standard library that it reads. */
const INTERPRETER_FILES = ['python.wasm', 'stdlib.pack'];
const LICENSES = 'licenses';

/**
 * Unpacks what is committed. Throws when a file is not what its checksum says.
 * @param {string} source
 * @param {string} folder
 */
export async function unpackInterpreter(source, folder) {
  const sums = await readChecksums(join(source, 'artifacts.sha256'));
  for (const name of INTERPRETER_FILES) {
    const bytes = await promisify(brotliDecompress)(await readFile(join(source, 'artifacts', `${name}.br`)));
    if (sums.get(name) !== createHash('sha256').update(bytes).digest('hex')) {
      throw new Error(`${join(source, 'artifacts', name)}.br is not what artifacts.sha256 says`);
    }
    await writeFile(join(folder, name), bytes);
  }
  await cp(join(source, LICENSES), join(folder, LICENSES), { recursive: true });
}

/**
 * Takes the files of one's own build (`sandbox-runtime/wasm/build.sh`), to try it before it is stored.
 * @param {string} source
 * @param {string} folder
 */
export async function copyInterpreter(source, folder) {
  for (const name of INTERPRETER_FILES) {
    await cp(join(source, name), join(folder, name));
  }
}

/**
 * Name to SHA-256 in hexadecimal, from a file as `sha256sum` writes it.
 * @param {string} file
 * @returns {Promise<Map<string, string>>}
 */
async function readChecksums(file) {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return new Map(lines.map((line) => [line.slice(64 + 2), line.slice(0, 64)]));
}
