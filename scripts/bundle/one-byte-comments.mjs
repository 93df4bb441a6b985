// @ts-check
/**
 * Writes the comments of bundled packages in ASCII. V8 keeps the source of a loaded module, with two bytes for each character if one of
 * them is not in Latin-1, and a dash in a comment of the MCP SDK is not: two modules of an idle bridge took 1.6 MB instead of 0.8.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A smaller file with such characters in its code is left as it is. */
const MAX_TWO_BYTE_CHARS = 100_000;
const COMMENT_LINE = /^\s*(?:\/?\*|\/\/).*$/gm;
const OUTSIDE_ASCII = /[^\0-\x7f]/gu;
const OUTSIDE_LATIN_1 = /[^\0-\xff]/u;
/** @type {Record<string, string>} */
const WRITTEN = { '—': '-', '–': '-', '→': '->', '’': "'", '“': '"', '”': '"', '…': '...', '§': 'section ' };

/**
 * @param {string} folder
 * @param {readonly string[]} files Scripts in it.
 */
export async function writeCommentsInOneByte(folder, files) {
  for (const file of files) {
    const before = await readFile(join(folder, file), 'utf8');
    const after = before.replaceAll(COMMENT_LINE, (line) =>
      line.replaceAll(OUTSIDE_ASCII, (character) => WRITTEN[character] ?? '?'),
    );
    if (after !== before) {
      await writeFile(join(folder, file), after);
    }
    if (after.length > MAX_TWO_BYTE_CHARS && OUTSIDE_LATIN_1.test(after)) {
      throw new Error(`${file} has characters outside of Latin-1 in its code, so it would take twice the memory`);
    }
  }
}
