/** Python code given on the command line: as text, in a file, or on standard input. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { BridgeError, messageOf } from '../../core/base/errors.ts';

/** Code, or the file with it; a `path` of `-` is standard input. */
interface CodeSource {
  readonly code: string | undefined;
  readonly path: string | undefined;
}

/** Rejects with `USAGE_INVALID` when the file cannot be read. */
export async function readCode({ code, path = '-' }: CodeSource, input: NodeJS.ReadableStream): Promise<string> {
  if (code !== undefined) {
    return code;
  }
  try {
    return path === '-' ? await text(input) : await readFile(path, 'utf8');
  } catch (cause) {
    throw new BridgeError('USAGE_INVALID', `could not read '${path}': ${messageOf(cause)}`, {
      cause,
      hint: 'To run code from the command line, use -c CODE; to read it from standard input, use -.',
    });
  }
}
