// @ts-check
/**
 * Copies the result of build.sh into the repository: `node store.mjs WORK_FOLDER`. Compresses the interpreter and the
 * library into artifacts/, copies licenses/, and writes artifacts.sha256 with the checksums of the uncompressed files, so
 * that comparing a rebuild does not depend on the version of brotli.
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const COMPRESSED = ['python.wasm', 'stdlib.pack'];
/** 16 MiB, the largest window that every brotli decoder accepts. */
const WINDOW_BITS = 24;

const here = import.meta.dirname;
const out = join(process.argv[2] ?? '', 'out');

rmSync(join(here, 'licenses'), { recursive: true, force: true });
cpSync(join(out, 'licenses'), join(here, 'licenses'), { recursive: true });
mkdirSync(join(here, 'artifacts'), { recursive: true });
for (const name of COMPRESSED) {
  writeFileSync(join(here, 'artifacts', `${name}.br`), compress(readFileSync(join(out, name))));
}
const licenses = readdirSync(join(out, 'licenses')).toSorted((one, other) => (one < other ? -1 : 1));
const names = [...COMPRESSED, ...licenses.map((name) => `licenses/${name}`)];
writeFileSync(join(here, 'artifacts.sha256'), names.map((name) => `${sha256(join(out, name))}  ${name}\n`).join(''));

/** @param {Buffer} bytes */
function compress(bytes) {
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** @param {string} path */
function sha256(path) {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
