/** Reads the file of a `${file:…}`. Links are followed: secrets that are mounted into a container are links. */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** A service account in JSON has 2.5 kB; a secret of more than this is a mistake. */
const MAX_BYTES = 64 * 1024;

/** The text of the file. Rejects with why there is none, and nothing of its content. */
export async function readSecretFile(path: string): Promise<string> {
  // Without blocking: a pipe in its place would never end.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
    throw new Error(`${path} cannot be read: ${codeOf(error)}`);
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > MAX_BYTES) {
      throw new Error(`${path} is no file of at most ${MAX_BYTES.toLocaleString('en-US')} bytes`);
    }
    return decodeSecret(await file.readFile());
  } finally {
    await file.close();
  }
}

/** The text without the line ends behind it. Throws when it is no UTF-8. */
export function decodeSecret(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/[\r\n]+$/, '');
  } catch {
    throw new Error('it is no text in UTF-8');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'of an unknown reason';
}
